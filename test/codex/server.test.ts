import { mkdtempSync, rmSync, symlinkSync } from "node:fs";
import { homedir } from "node:os";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { type CodexCase, NEWEST_TRIED, publishedCases } from "../support/codex/codexPeers.js";
import { eventually } from "../support/eventually.js";
import { configNaming } from "../support/model/mockProvider.js";
import { startResponsesServer } from "../support/model/responsesServer.js";
import { MAIN, type McpServer, startServer } from "../support/processes/mcpServer.js";
import { runToEnd } from "../support/processes/runToEnd.js";
import { setStage, stageEnvironment } from "../support/stage.js";

const CASES = await publishedCases([NEWEST_TRIED]);
const PATIENCE = { timeout: 90_000 };
const UNCONFINED = { "approval-policy": "never", sandbox: "danger-full-access" };

async function startCase({ program, model }: CodexCase, modelUrl: string): Promise<McpServer> {
  const server = await startServer({ args: ["--engine", "codex", "--codex-bin", program], config: configNaming(model, modelUrl) });
  await server.initialize();
  return server;
}

function commandsOf(server: McpServer): string[] {
  return server.started().flatMap(({ commandLine }) => (commandLine.includes("sleep 300") ? [commandLine] : []));
}

/** Starts a process in a session of its own that ignores TERM and HUP, and continues. */
const DETACHED = "(setsid sh -c 'trap : TERM HUP; while :; do sleep 301; done' &); sleep 300";

function detachedIn(server: McpServer): string[] {
  return server.started().flatMap(({ commandLine }) => (commandLine === "sleep 301" ? [commandLine] : []));
}

describe.each(CASES)("the server with Codex $version and $family", PATIENCE, (codex) => {
  const { program, model: named } = codex;
  const startWithCodex = (modelUrl: string) => startCase(codex, modelUrl);

  it("chooses the Codex on PATH, and says so in the handshake and in every answer", async () => {
    await using model = await startResponsesServer();
    await using stage = await setStage();
    // Outside the usual temporary folders: commands may write there.
    const bin = mkdtempSync(path.join(homedir(), ".codex-on-path-"));
    symlinkSync(program, path.join(bin, "codex"));
    const env = { PATH: `${bin}:${process.env["PATH"]}` };
    await using server = await startServer({ stage, args: [], env, config: configNaming(named, model.url) });
    expect(await server.initialize()).toMatchObject({ _meta: { "codex-mcpd/engine": "codex" } });
    expect(await server.call("codex", { prompt: "!say hello", model: "mine" }).result()).toMatchObject({
      structuredContent: {
        content: "hello",
        status: "completed",
        model: "mine",
        sandbox: { policy: "read-only", enforcedBy: "codex" },
      },
      _meta: { "codex-mcpd/turn": { engine: "codex" } },
    });
    rmSync(bin, { recursive: true });
    expect(model.requests.at(-1)?.body["model"]).toBe("mine");
  });

  it("ends the command of a cancelled call, and the thread continues", async () => {
    await using model = await startResponsesServer();
    await using server = await startWithCodex(model.url);
    const call = server.call("codex", { prompt: "!shell sleep 300", ...UNCONFINED });
    await call.event("exec_command_begin");
    await eventually("the command", () => commandsOf(server)[0]);
    server.cancel(call.id);
    await call.event("turn_aborted");
    await eventually("the end of the command", () => commandsOf(server).length === 0 || undefined);
    const reply = server.call("codex-reply", { threadId: await call.threadId(), prompt: "!say next" });
    expect(await reply.result()).toMatchObject({ structuredContent: { content: "next" } });
  });

  it.each<[string, (server: McpServer) => Promise<unknown>]>([
    ["its client leaves", (server) => server.closeAndWait()],
    ["it is told to end", async (server) => server.process.kill("SIGTERM")],
    ["it is killed", async (server) => server.process.kill("SIGKILL")],
  ])("leaves nothing running when %s while a command runs", async (_how, end) => {
    await using model = await startResponsesServer();
    await using server = await startWithCodex(model.url);
    await server.call("codex", { prompt: "!shell sleep 300", ...UNCONFINED }).event("exec_command_begin");
    await eventually("the command", () => commandsOf(server)[0]);
    await end(server);
    await server.exit();
    expect(await server.leftBehind()).toEqual([]);
  });

  it("leaves nothing of a sandboxed command when it is killed, however it detached itself", async () => {
    await using model = await startResponsesServer();
    await using server = await startWithCodex(model.url);
    const sandboxed = { "approval-policy": "never", sandbox: "workspace-write" };
    await server.call("codex", { prompt: `!shell ${DETACHED}`, ...sandboxed }).event("exec_command_begin");
    await eventually("the command", () => detachedIn(server)[0]);
    server.process.kill("SIGKILL");
    await server.exit();
    expect(await server.leftBehind()).toEqual([]);
  });

  it("ends commands with full access that a killed server left running", async () => {
    await using model = await startResponsesServer();
    await using killed = await startWithCodex(model.url);
    await killed.call("codex", { prompt: `!shell ${DETACHED}`, ...UNCONFINED }).event("exec_command_begin");
    await eventually("the command", () => detachedIn(killed)[0]);
    killed.process.kill("SIGKILL");
    await killed.exit();
    await using next = await startWithCodex(model.url);
    await next.call("codex", { prompt: "!say hello" }).result();
    expect(await killed.leftBehind()).toEqual([]);
  });

  it("fails a call that it could not confine, and doctor fails with the same words: a home below the temporary folder", async () => {
    await using model = await startResponsesServer();
    await using stage = await setStage();
    const start = {
      stage,
      args: ["--engine", "codex", "--codex-bin", program],
      config: configNaming(named, model.url),
      env: { TMPDIR: stage.root },
    };
    await using server = await startServer(start);
    await server.initialize();
    const complaint = /CODEX_HOME is .*below the temporary folder .* Set CODEX_HOME to a folder elsewhere, or use --engine native\./;
    expect(await server.call("codex", { prompt: "!say hello" }).result()).toMatchObject({
      isError: true,
      content: [{ text: expect.stringMatching(complaint) }],
    });
    expect(await server.call("codex", { prompt: "!say hello", ...UNCONFINED }).result()).toMatchObject({
      structuredContent: { content: "hello" },
    });
    const env = { ...stageEnvironment(stage, { name: "", about: "", steps: [] }, {}), TMPDIR: stage.root };
    const doctor = await runToEnd([process.execPath, MAIN, "doctor", ...start.args], { cwd: stage.workspace, env });
    expect([doctor.code, doctor.stdout]).toEqual([1, expect.stringMatching(complaint)]);
  });

  it("runs threads with another provider than the configured one, including one that only the call describes", async () => {
    await using model = await startResponsesServer();
    await using server = await startWithCodex("http://127.0.0.1:9/v1");
    const config = { model_provider: "own", model_providers: { own: { name: "own", base_url: model.url, wire_api: "responses" } } };
    const call = server.call("codex", { prompt: "!say hello", config });
    expect(await call.result()).toMatchObject({ structuredContent: { content: "hello" } });
  });
});

describe("the server without a Codex it could use", PATIENCE, () => {
  it("answers the call with what to do, and continues to serve", async () => {
    await using server = await startServer({ args: ["--engine", "codex", "--codex-bin", "/nowhere/codex"] });
    expect(await server.initialize()).toMatchObject({ _meta: { "codex-mcpd/engine": "codex" } });
    expect(await server.call("codex", { prompt: "!say hello" }).result()).toMatchObject({
      isError: true,
      content: [{ text: "/nowhere/codex (--codex-bin) does not exist. Correct --codex-bin, or use --engine native." }],
    });
    expect(await server.request("ping")).toEqual({});
  });
});
