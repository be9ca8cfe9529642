import { writeFileSync } from "node:fs";
import path from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { buildAppServerDouble, type Faults } from "../support/codex/appServerDouble.js";
import { handshake } from "../support/http/httpClient.js";
import { addressOf, HttpServer } from "../support/http/httpServer.js";
import { MAIN, startServer } from "../support/processes/mcpServer.js";
import { runToEnd } from "../support/processes/runToEnd.js";
import { type Stage, setStage, stageEnvironment } from "../support/stage.js";

const double = await buildAppServerDouble();
afterAll(() => double[Symbol.dispose]());

const TOKEN = "a-token-of-more-than-sixteen-characters";
const OLD: Faults = { version: "0.152.1" };
const COMPLAINT = /The Codex CLI at \S+, version 0\.152\.1, cannot hide tokens, .* use --engine native\./;

/** Arguments of a server that other callers may use too. */
function shared({ root }: Stage): string[] {
  const tokens = path.join(root, "tokens.txt");
  writeFileSync(tokens, `alice ${TOKEN}\n`, { mode: 0o600 });
  return ["--port", "0", "--codex-bin", double.program, "--token-file", tokens];
}

async function listening(stage: Stage, { args, faults }: { args: readonly string[]; faults: Faults }): Promise<HttpServer> {
  const running = await startServer({ stage, args, env: { APP_SERVER_FAULTS: JSON.stringify(faults) } });
  return new HttpServer(running, await addressOf(running));
}

async function engineOf(server: HttpServer): Promise<unknown> {
  return (await server.ask({ message: handshake(1), headers: { authorization: `Bearer ${TOKEN}` } })).body;
}

describe.concurrent("a Codex that cannot hide one caller from another", () => {
  it("keeps a server with several callers from starting, with one sentence", async () => {
    await using stage = await setStage();
    const env = { ...stageEnvironment(stage, { name: "", about: "", steps: [] }, {}), APP_SERVER_FAULTS: JSON.stringify(OLD) };
    const { code, stderr } = await runToEnd([process.execPath, MAIN, "--engine", "codex", ...shared(stage)], { cwd: stage.workspace, env });
    expect([code, stderr.trim().split("\n")]).toEqual([1, [expect.stringMatching(COMPLAINT)]]);
  });

  it("is replaced by the native engine if it was not chosen explicitly, with a message", async () => {
    await using stage = await setStage();
    await using server = await listening(stage, { args: shared(stage), faults: OLD });
    expect(server.running.errorLines.join("\n")).toMatch(/engine native is used instead of codex\. The Codex CLI at/);
    expect(JSON.stringify(await engineOf(server))).toContain('"codex-mcpd/engine":"native"');
  });

  it("serves a single one", async () => {
    await using stage = await setStage();
    const args = ["--engine", "codex", "--port", "0", "--codex-bin", double.program, "--token", TOKEN];
    await using server = await listening(stage, { args, faults: OLD });
    expect(JSON.stringify(await engineOf(server))).toContain('"codex-mcpd/engine":"codex"');
  });
});

it("a Codex with profiles serves several principals", async () => {
  await using stage = await setStage();
  await using server = await listening(stage, { args: shared(stage), faults: { version: "0.166.0" } });
  expect(JSON.stringify(await engineOf(server))).toContain('"codex-mcpd/engine":"codex"');
});
