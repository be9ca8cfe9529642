import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import path from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { mockProvider, NOBODY_LISTENS } from "../support/model/mockProvider.js";
import { MAIN, type McpServer, startServer } from "../support/processes/mcpServer.js";
import { runToEnd } from "../support/processes/runToEnd.js";
import { setStage, stageEnvironment } from "../support/stage.js";

/** Outside the usual temporary folders: commands may write there. */
const folder = mkdtempSync(path.join(homedir(), ".usable-codex-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** An npm package like that of Codex. Its program only prints its version, or fails because a part of it is missing. */
function packagedCodex({ version, lacksProgram }: Start): string {
  const bin = path.join(folder, lacksProgram ? "incomplete" : version, "bin");
  mkdirSync(bin, { recursive: true });
  writeFileSync(path.join(bin, "..", "package.json"), JSON.stringify({ name: "@openai/codex", version }));
  const script = lacksProgram ? "echo 'Error: Missing optional dependency' >&2; exit 1" : `echo codex-cli ${version}`;
  writeFileSync(path.join(bin, "codex"), `#!/bin/sh\n${script}\n`);
  chmodSync(path.join(bin, "codex"), 0o755);
  return bin;
}

interface Start {
  readonly version: string;
  readonly args?: readonly string[];
  readonly key?: string;
  readonly auth?: string;
  readonly config?: string;
  /** CODEX_HOME is inside a temporary folder. */
  readonly homeIsTemporary?: true;
  /** The package for this platform was not installed. */
  readonly lacksProgram?: true;
}

async function startWith(start: Start): Promise<McpServer> {
  const { args = [], key, auth, config = "", homeIsTemporary } = start;
  const stage = await setStage();
  if (auth !== undefined) writeFileSync(path.join(stage.codexHome, "auth.json"), auth);
  const env = {
    PATH: `${packagedCodex(start)}:${process.env["PATH"]}`,
    ...(key === undefined ? {} : { OPENAI_API_KEY: key }),
    ...(homeIsTemporary ? { TMPDIR: stage.root } : {}),
  };
  return startServer({ stage, args: [...args], env, config });
}

const engineOf = async (server: McpServer) =>
  ((await server.initialize()) as { readonly _meta: Readonly<Record<string, unknown>> })._meta["codex-mcpd/engine"];

describe("an engine that was not chosen", () => {
  it.each<[string, Start, string, RegExp | undefined]>([
    ["is codex where it can be used", { version: "0.166.0", auth: '{"tokens":{}}', key: "k" }, "codex", undefined],
    ["is codex where nobody is logged in to anything", { version: "0.166.0" }, "codex", undefined],
    ["is codex where that is too old and native has no key either: its error says what to do", { version: "0.92.0" }, "codex", undefined],
    [
      "is codex where its login is out of sight",
      { version: "0.166.0", key: "k", config: 'cli_auth_credentials_store = "keyring"\n' },
      "codex",
      undefined,
    ],
    [
      "is native where Codex is too old",
      { version: "0.92.0", key: "k" },
      "native",
      /engine native is used instead of codex\. .*version 0\.92\.0.*npm install -g @openai\/codex/,
    ],
    [
      "is native where the launcher of Codex lacks its program",
      { version: "0.166.0", auth: '{"tokens":{}}', key: "k", lacksProgram: true },
      "native",
      /did not report its version: Error: Missing optional dependency\. Install it again \(npm install -g @openai\/codex\)/,
    ],
    [
      "is native where Codex is not logged in and a key is there",
      { version: "0.166.0", key: "k" },
      "native",
      /not logged in.*`codex login`/,
    ],
    [
      "is native where Codex could not confine a command",
      { version: "0.166.0", config: mockProvider(NOBODY_LISTENS), homeIsTemporary: true },
      "native",
      /CODEX_HOME is .*below the temporary folder/,
    ],
  ])("%s", async (_name, start, engine, notice) => {
    await using server = await startWith(start);
    expect(await engineOf(server)).toBe(engine);
    const said = server.errorLines.join("\n");
    if (notice) expect(said).toMatch(notice);
    else expect(said).not.toContain("instead of codex");
  });

  it("is used without a check if it was chosen", async () => {
    await using server = await startWith({ version: "0.166.0", key: "k", args: ["--engine", "codex"] });
    expect(await engineOf(server)).toBe("codex");
  });
});

it("doctor says why the engine is another one", async () => {
  await using stage = await setStage();
  const env = {
    ...stageEnvironment(stage, { name: "", about: "", steps: [] }, {}),
    PATH: `${packagedCodex({ version: "0.92.0" })}:${process.env["PATH"]}`,
    OPENAI_API_KEY: "k",
  };
  const { stdout } = await runToEnd([process.execPath, MAIN, "doctor"], { cwd: stage.workspace, env });
  expect(stdout).toMatch(/^note +engine +engine native is used instead of codex\. .*at least 0\.150\.0 is needed/m);
});
