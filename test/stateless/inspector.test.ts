import { readdir } from "node:fs/promises";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { installOnNewerNode } from "../conformance/suite.js";
import { startHttpServer } from "../support/httpServer.js";
import { MAIN } from "../support/mcpServer.js";
import { runToEnd } from "../support/runToEnd.js";
import { valueAt } from "../support/scenario.js";
import { type Stage, setStage, stageEnvironment } from "../support/stage.js";

const inspector = await findInspector();

interface Surroundings extends AsyncDisposable {
  /** The way to the server, as arguments of the inspector's command line. */
  readonly target: readonly string[];
  readonly stage: Stage;
}

const TRANSPORTS: Readonly<Record<string, () => Promise<Surroundings>>> = {
  stdio: async () => {
    const stage = await setStage();
    const env = environment(stage);
    const settings = ["CODEX_HOME", "HOME", "PATH"].flatMap((name) => ["-e", `${name}=${env[name]}`]);
    const target = [process.execPath, MAIN, "--engine", "scripted", "--cwd", stage.workspace, ...settings];
    return { target, stage, [Symbol.asyncDispose]: () => stage[Symbol.asyncDispose]() };
  },
  HTTP: async () => {
    const server = await startHttpServer();
    const target = [server.url, "--transport", "http"];
    return { target, stage: server.running.stage, [Symbol.asyncDispose]: () => server[Symbol.asyncDispose]() };
  },
};

describe.runIf(inspector).each(Object.entries(TRANSPORTS))("the inspector's command line over %s", (_, surround) => {
  it.each([
    ["legacy", 0],
    ["modern", 1],
    ["auto", 1],
  ])(
    "lists the tools and gets answers in the era %s, where %d of its calls becomes a task",
    async (era, tasks) => {
      await using surroundings = await surround();
      const { target, stage } = surroundings;
      const inspect = async (...args: string[]): Promise<unknown> => {
        const { node = "", program = "" } = inspector ?? {};
        const argv = [node, program, "--cli", ...target, "--protocol-era", era, "--format", "json", "-q", ...args] as const;
        const { code, stdout, stderr } = await runToEnd(argv, { env: environment(stage), timeoutMs: 40_000 });
        expect({ code, stderr }).toMatchObject({ code: 0 });
        return JSON.parse(stdout);
      };
      const call = (prompt: string) => inspect("--method", "tools/call", "--tool-name", "codex", "--tool-arg", `prompt=${prompt}`);
      expect(await inspect("--method", "tools/list")).toMatchObject({ result: { tools: [{ name: "codex" }, { name: "codex-reply" }] } });
      expect(valueAt(await call("!say hi"), "result.structuredContent.content")).toBe("hi");
      expect(valueAt(await call("!delay 1500\n!say later"), "result.structuredContent.content")).toBe("later");
      expect((await tasksIn(stage)).length).toBeGreaterThanOrEqual(tasks);
      if (tasks === 0) expect(await tasksIn(stage)).toEqual([]);
    },
    120_000,
  );
});

function environment(stage: Stage): Record<string, string> {
  return stageEnvironment(stage, { name: "", about: "", steps: [] }, {});
}

function tasksIn({ codexHome }: Stage): Promise<string[]> {
  return readdir(path.join(codexHome, "mcp-server", "tasks")).catch(() => []);
}

/** Where the registry cannot be reached these tests are shown as skipped; REQUIRE_CONFORMANCE=1 makes that a failure. */
async function findInspector(): Promise<{ readonly node: string; readonly program: string } | undefined> {
  try {
    const { node, modules } = await installOnNewerNode("inspector", "@modelcontextprotocol/inspector@2.12.0");
    return { node, program: path.join(modules, ".bin", "mcp-inspector") };
  } catch (error) {
    if (process.env["REQUIRE_CONFORMANCE"] === "1") throw error;
    console.warn(`Tests with the inspector are skipped: it cannot be installed. ${error instanceof Error ? error.message : String(error)}`);
    return undefined;
  }
}
