import { randomUUID } from "node:crypto";
import { readdir } from "node:fs/promises";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { installOnNewerNode } from "../conformance/suite.js";
import { HAS_TERMINAL, InspectorConnections } from "../support/clients/inspectorConnections.js";
import { eventually } from "../support/eventually.js";
import { startHttpServer } from "../support/http/httpServer.js";
import { RUN_MARK } from "../support/processes/markedProcesses.js";
import { MAIN } from "../support/processes/mcpServer.js";
import { processesIn } from "../support/processes/processesIn.js";
import { runToEnd } from "../support/processes/runToEnd.js";
import { valueAt } from "../support/scenarios/scenario.js";
import { type Stage, setStage, stageEnvironment, workspaceFiles } from "../support/stage.js";
import { linesIn } from "../support/threads/rollouts.js";
import { rolloutFile, spokenOn, storyOf } from "../support/threads/storedThread.js";
import { ALL_TOOL_NAMES, TOOL_NAMES } from "../support/toolPins.js";

const inspector = await findInspector();

interface Surroundings extends AsyncDisposable {
  /** Arguments that tell the inspector how to reach the server. */
  readonly server: readonly string[];
  readonly options: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly stage: Stage;
  readonly tools: readonly string[];
  /** Resolves when the server holds nothing for clients that have gone. */
  forgetsClients(): Promise<unknown>;
}

/** The inspector does not end its session, so the session keeps its threads for this long. */
const HASTY = { config: "[mcp_server]\ntask_after_seconds = 1", http: "idle_session_minutes = 0.05\nkeep_alive_seconds = 1" };

const TRANSPORTS: Readonly<Record<string, () => Promise<Surroundings>>> = {
  stdio: async () => {
    const stage = await setStage();
    const env = environment(stage);
    const settings = ["CODEX_HOME", "HOME", "PATH", RUN_MARK].flatMap((name) => ["-e", `${name}=${env[name]}`]);
    const server = [process.execPath, MAIN, "--engine", "scripted", "-c", "mcp_server.task_after_seconds=1"];
    return {
      server,
      options: ["--cwd", stage.workspace, ...settings],
      env,
      stage,
      tools: TOOL_NAMES,
      forgetsClients: () => Promise.resolve(),
      [Symbol.asyncDispose]: () => stage[Symbol.asyncDispose](),
    };
  },
  HTTP: async () => {
    const http = await startHttpServer(HASTY);
    const { stage } = http.running;
    const sessions = async () => (await http.ask({ method: "GET", path: "/sessions" })).body;
    return {
      server: [http.url],
      options: ["--transport", "http"],
      env: environment(stage),
      stage,
      tools: ALL_TOOL_NAMES,
      forgetsClients: () => expect.poll(sessions).toMatchObject({ sessions: [] }),
      [Symbol.asyncDispose]: () => http[Symbol.asyncDispose](),
    };
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
      const { server, options, env, stage, tools } = surroundings;
      const inspect = async (...args: string[]): Promise<unknown> => {
        const { node = "", once = "" } = inspector ?? {};
        const argv = [node, once, "--cli", ...server, ...options, "--protocol-era", era, "--format", "json", "-q", ...args] as const;
        const { code, stdout, stderr } = await runToEnd(argv, { env, timeoutMs: 40_000 });
        expect({ code, stderr }).toMatchObject({ code: 0 });
        return JSON.parse(stdout);
      };
      const call = (prompt: string) => inspect("--method", "tools/call", "--tool-name", "codex", "--tool-arg", `prompt=${prompt}`);
      expect(await inspect("--method", "tools/list")).toMatchObject({
        result: { tools: tools.map((name) => ({ name })) },
      });
      expect(valueAt(await call("!say hi"), "result.structuredContent.content")).toBe("hi");
      expect(valueAt(await call("!delay 1500\n!say later"), "result.structuredContent.content")).toBe("later");
      expect((await tasksIn(stage)).length).toBeGreaterThanOrEqual(tasks);
      if (tasks === 0) expect(await tasksIn(stage)).toEqual([]);
    },
    120_000,
  );
});

const ASKING = { prompt: "!shell touch made.txt\n!say over", "approval-policy": "untrusted", sandbox: "workspace-write" };
const LONG_COMMAND = { command: ["bash", "-c", "mkdir inner && cd inner && exec sleep 600"], timeout_ms: 600_000 };
const LONG = { prompt: `!call shell ${JSON.stringify(LONG_COMMAND)}`, "approval-policy": "never", sandbox: "workspace-write" };

describe
  .runIf(inspector)
  .each(Object.entries(TRANSPORTS).flatMap(([transport, surround]) => ["legacy", "modern"].map((era) => ({ transport, era, surround }))))(
  "a connection that the inspector keeps over $transport in the era $era",
  { timeout: 60_000 },
  ({ era, surround }) => {
    it("runs a command once it is approved", async () => {
      await using surroundings = await surround();
      await using connections = open(surroundings);
      await connections.connect("first", { ...surroundings, era });
      const question = await connections.callUntilAsked("first", "codex", ASKING);
      expect(question.message).toContain("touch made.txt");
      expect(await workspaceFiles(surroundings.stage)).toEqual({});
      expect(await connections.answer(question, { decision: "approved" })).toMatchObject({ structuredContent: { content: "over" } });
      expect(await workspaceFiles(surroundings.stage)).toEqual({ "made.txt": "" });
    });

    it("denies a command with a reason, which the model gets in place of the command's output", async () => {
      await using surroundings = await surround();
      await using connections = open(surroundings);
      await connections.connect("first", { ...surroundings, era });
      const question = await connections.callUntilAsked("first", "codex", ASKING);
      const answer = await connections.answer(question, { decision: "denied", reason: "not before lunch" });
      expect(answer).toMatchObject({ structuredContent: { content: "over" } });
      expect(toolOutputs(surroundings.stage)).toEqual(["exec command rejected by user: not before lunch"]);
      expect(await workspaceFiles(surroundings.stage)).toEqual({});
    });

    it("denies a command by closing its question, and the turn continues", async () => {
      await using surroundings = await surround();
      await using connections = open(surroundings);
      await connections.connect("first", { ...surroundings, era });
      const question = await connections.callUntilAsked("first", "codex", ASKING);
      expect(await connections.answer(question, "--cancel")).toMatchObject({
        structuredContent: { content: "over", status: "completed", approvals: { denied: 1 } },
      });
      expect(await workspaceFiles(surroundings.stage)).toEqual({});
    });

    it.runIf(HAS_TERMINAL)("ends the turn and its command when the call is cancelled", async () => {
      await using surroundings = await surround();
      await using connections = open(surroundings);
      const { stage } = surroundings;
      await connections.connect("first", { ...surroundings, era });
      const begun = async () => {
        await eventually("the command", () => runsIn(stage, "inner") || undefined);
        if (era === "modern") await expect.poll(() => tasksIn(stage)).toHaveLength(1);
      };
      expect(await connections.callBrokenOff("first", { tool: "codex", args: LONG, begun })).toContain("cancelled");
      // A client that disconnects does not cancel its task, and the inspector does not cancel it by itself.
      if (era === "modern") {
        const [taskId = ""] = await tasksIn(stage);
        await connections.task("first", "cancel", taskId);
        expect(await connections.task("first", "get", taskId)).toMatchObject({ task: { status: "cancelled" } });
      }
      await eventually("the turn's end", () => storyOf(stage).includes("turn_aborted") || undefined);
      await eventually("the command's end", () => !runsIn(stage, "inner") || undefined);
      expect(await connections.call("first", "codex", { prompt: "!say next" })).toMatchObject({ structuredContent: { content: "next" } });
    });

    it("continues a thread of an earlier connection", async () => {
      await using surroundings = await surround();
      await using connections = open(surroundings);
      await connections.connect("first", { ...surroundings, era });
      const threadId = String(valueAt(await connections.call("first", "codex", { prompt: "!say one" }), "structuredContent.threadId"));
      await connections.disconnect("first");
      await surroundings.forgetsClients();
      await connections.connect("second", { ...surroundings, era });
      const answer = await connections.call("second", "codex-reply", { threadId, prompt: "!say two" });
      expect(answer["structuredContent"]).toMatchObject({ threadId, content: "two", status: "completed" });
      expect(spokenOn(surroundings.stage, threadId)).toEqual(["user: !say one", "assistant: one", "user: !say two", "assistant: two"]);
    });
  },
);

function open({ env, stage }: Surroundings): InspectorConnections {
  const { node = "", kept = "" } = inspector ?? {};
  return new InspectorConnections({ node, program: kept, env, cwd: stage.home });
}

function environment(stage: Stage): Record<string, string> {
  return {
    ...stageEnvironment(stage, { name: "", about: "", steps: [] }, {}),
    MCP_INSPECTOR_SECRET_STORE: "file",
    [RUN_MARK]: randomUUID(),
  };
}

async function tasksIn({ codexHome }: Stage): Promise<string[]> {
  const names = await readdir(path.join(codexHome, "mcp-server", "tasks")).catch(() => []);
  return names.filter((name) => name.endsWith(".json")).map((name) => path.basename(name, ".json"));
}

function runsIn({ workspace }: Stage, folder: string): boolean {
  return processesIn(path.join(workspace, folder)).length > 0;
}

/** The outputs of tool calls that the model received, on the only thread. */
function toolOutputs(stage: Stage): unknown[] {
  return linesIn(rolloutFile(stage))
    .map(({ payload }) => payload)
    .filter((payload) => valueAt(payload, "type") === "function_call_output")
    .map((payload) => valueAt(payload, "output"));
}

interface Inspector {
  readonly node: string;
  /** Connects, does one thing, and disconnects. */
  readonly once: string;
  /** Keeps its connections. */
  readonly kept: string;
}

/** Where the registry cannot be reached these tests are shown as skipped; REQUIRE_CONFORMANCE=1 makes that a failure. */
async function findInspector(): Promise<Inspector | undefined> {
  try {
    const { node, modules } = await installOnNewerNode("inspector", "@modelcontextprotocol/inspector@2.12.0");
    return { node, once: path.join(modules, ".bin", "mcp-inspector"), kept: path.join(modules, ".bin", "mcpdo") };
  } catch (error) {
    if (process.env["REQUIRE_CONFORMANCE"] === "1") throw error;
    console.warn(`Tests with the inspector are skipped: it cannot be installed. ${error instanceof Error ? error.message : String(error)}`);
    return undefined;
  }
}
