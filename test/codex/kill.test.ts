import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { createCodexEngine } from "../../src/engines/codex/engine.js";
import { newThreadId } from "../../src/lib/ids.js";
import { deferred } from "../../src/lib/promises.js";
import { livingAfter, livingWith } from "../sandbox/living.js";
import { type CodexCase, NEWEST_TRIED, publishedCases } from "../support/codex/codexPeers.js";
import { setCodexStage } from "../support/codex/codexStage.js";
import { eventually } from "../support/eventually.js";
import { configNaming } from "../support/model/mockProvider.js";
import { startResponsesServer } from "../support/model/responsesServer.js";
import type { MarkedProcess } from "../support/processes/markedProcesses.js";
import { MAIN, type McpServer, startServer, type ToolCall } from "../support/processes/mcpServer.js";
import { playTurn } from "../support/threads/turns.js";

const CASES = await publishedCases();
/** Failures here are rare, so the newest version is killed often; the others only to see that they behave the same. */
const timesFor = (version: string) => (version === NEWEST_TRIED ? 20 : 2);
/** On a busy machine the kernel may need time to end killed processes. */
const GONE_WITHIN_MS = 10_000;
/** The time in which a call must end after its Codex was killed. */
const DEADLINE_MS = 20_000;
const UNCONFINED = { "approval-policy": "never", sandbox: "danger-full-access" };
const CONFINED = { "approval-policy": "never", sandbox: "workspace-write" };
const ASKING = { "approval-policy": "untrusted", sandbox: "read-only" };

interface Stage {
  readonly when: string;
  readonly prompt: string;
  readonly thread: Readonly<Record<string, string>>;
  /** Resolves when the turn has got this far. */
  reached(server: McpServer, call: ToolCall): Promise<unknown>;
}

const STAGES: readonly Stage[] = [
  { when: "before the model says anything", prompt: "!hang", thread: UNCONFINED, reached: (_, call) => call.event("user_message") },
  { when: "while the model speaks", prompt: "!slow 1000 20", thread: UNCONFINED, reached: (_, call) => call.event("agent_message_delta") },
  {
    when: "while a command runs",
    prompt: "!shell sleep 300",
    thread: UNCONFINED,
    reached: async (server, call) => {
      await call.event("exec_command_begin");
      await eventually("the command", () => server.started().find(isCommand));
    },
  },
  { when: "after a command", prompt: "!shell true\n!hang", thread: UNCONFINED, reached: (_, call) => call.event("exec_command_end") },
  {
    when: "while files are changed",
    prompt: Array.from({ length: 20 }, (_, at) => `!patch file-${at}.txt hello`).join("\n"),
    thread: CONFINED,
    reached: async (server) => {
      await eventually("the file helper", () => besides(server).find((line) => line.includes("--codex-run-as-fs-helper")));
    },
  },
  {
    when: "while a sandboxed command runs",
    prompt: "!shell sleep 300",
    thread: CONFINED,
    reached: async (server, call) => {
      await call.event("exec_command_begin");
      await eventually("the command", () => server.started().find(isCommand));
    },
  },
  {
    when: "while somebody is asked",
    prompt: "!shell touch made.txt",
    thread: ASKING,
    reached: (_, call) => call.event("exec_approval_request"),
  },
];

async function startWith({ program, model: named }: CodexCase, url: string): Promise<McpServer> {
  return startServer({ args: ["--engine", "codex", "--codex-bin", program], config: configNaming(named, url) });
}

describe.concurrent.each(CASES)("when Codex $version is killed in a turn with $family", { timeout: 180_000 }, (codex) => {
  it.for(STAGES)(
    `$when, ${timesFor(codex.version)} times: the call reports it in time, nothing is left, and the thread continues`,
    async (stage, context) => {
      await using model = await startResponsesServer();
      await using server = await startWith(codex, model.url);
      await server.initialize("2025-11-25", { elicitation: {} });
      const first = server.call("codex", { prompt: "!say hello", ...stage.thread });
      const threadId = await first.threadId();
      await first.result();
      for (let round = 1; round <= timesFor(codex.version); round++) {
        const call = server.call("codex-reply", { threadId, prompt: stage.prompt });
        await stage.reached(server, call);
        for (const { pid } of server.started().filter(isAppServer)) process.kill(pid, "SIGKILL");
        context.expect(await Promise.race([call.result(), sleep(DEADLINE_MS, "no answer in time")])).toMatchObject({
          isError: true,
          structuredContent: { content: expect.stringMatching(/^The Codex process was ended by SIGKILL/) },
        });
        await eventually("the end of everything", () => besides(server).length === 0 || undefined);
        const reply = server.call("codex-reply", { threadId, prompt: `!say again ${round}` });
        context.expect(await reply.result()).toMatchObject({ structuredContent: { content: `again ${round}` } });
      }
    },
  );
});

describe.each(CASES)("when Codex $version is killed outside of a turn with $family", { timeout: 60_000 }, (codex) => {
  it("while it starts, the call reports it, and the next one works", async () => {
    await using model = await startResponsesServer();
    await using server = await startWith(codex, model.url);
    await server.initialize();
    const call = server.call("codex", { prompt: "!say hello" });
    const { pid } = await eventually("the process", () => server.started().find(isAppServer));
    process.kill(pid, "SIGKILL");
    expect(await call.result()).toMatchObject({
      isError: true,
      content: [{ text: expect.stringContaining("The Codex process was ended by SIGKILL") }],
    });
    expect(await server.call("codex", { prompt: "!say hello" }).result()).toMatchObject({ structuredContent: { content: "hello" } });
  });

  it("between turns, the next turn works", async () => {
    await using model = await startResponsesServer();
    await using server = await startWith(codex, model.url);
    await server.initialize();
    const first = server.call("codex", { prompt: "!say alpha" });
    await first.result();
    for (const { pid } of server.started().filter(isAppServer)) process.kill(pid, "SIGKILL");
    await eventually("the news of its end", () => server.errorLines.find((line) => line.includes("was ended by SIGKILL")));
    const reply = server.call("codex-reply", { threadId: await first.threadId(), prompt: "go on" });
    expect(await reply.result()).toMatchObject({ structuredContent: { content: "alpha" } });
  });

  it("before it recorded anything, the thread begins again", async () => {
    await using stage = await setCodexStage({ model: codex.model });
    const { env, workspace, settings } = stage;
    const gone = deferred<void>();
    const report = (line: string) => line.includes("was ended by SIGKILL") && gone.resolve();
    const engine = createCodexEngine({ codexBin: codex.program, env, cwd: workspace, report });
    const thread = await engine.openThread({ id: newThreadId(), settings });
    for (const { pid } of stage.appServers()) process.kill(pid, "SIGKILL");
    await gone.promise;
    const ends = [await playTurn(thread, "!say alpha"), await playTurn(thread, "go on")].map((events) => events.at(-1));
    await engine.close?.();
    expect(ends.at(-1)).toEqual({ type: "turnCompleted", lastMessage: "alpha" });
  });
});

/** Starts a process that leaves its session. It runs in addition to what the stage starts. */
const DAEMON = "!shell setsid --fork sleep 1000 >/dev/null 2>&1 </dev/null";

describe.concurrent.each(CASES)("when the server is killed in a turn of Codex $version with $family", { timeout: 180_000 }, (codex) => {
  it.for(
    STAGES.flatMap((stage) => [
      { ...stage, others: "alone" },
      { ...stage, others: "together with its Codex" },
    ]),
  )("$others, nothing is left: $when", async ({ others, ...stage }, context) => {
    await using model = await startResponsesServer();
    await using server = await startWith(codex, model.url);
    await server.initialize("2025-11-25", { elicitation: {} });
    await server.call("codex", { prompt: `${DAEMON}\n!say begun`, ...UNCONFINED }).result();
    const call = server.call("codex", { prompt: stage.prompt, ...stage.thread });
    await stage.reached(server, call);
    const pids =
      others === "alone"
        ? []
        : server
            .started()
            .filter(isAppServer)
            .map(({ pid }) => pid);
    for (const pid of [server.process.pid, ...pids]) process.kill(pid, "SIGKILL");
    await server.exit();
    context.expect(await livingAfter(GONE_WITHIN_MS, server.stage.root)).toEqual([]);
  });
});

/** The processes that a server started, including those to which Codex gave a clean environment. */
function besides({ stage }: McpServer): string[] {
  return livingWith(stage.root).filter((line) => !line.includes(MAIN));
}

function isAppServer({ commandLine }: MarkedProcess): boolean {
  return commandLine.includes("app-server");
}

function isCommand({ commandLine }: MarkedProcess): boolean {
  return commandLine === "sleep 300";
}
