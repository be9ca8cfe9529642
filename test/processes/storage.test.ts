import { readdirSync } from "node:fs";
import { appendFile, readFile, rm, truncate, writeFile } from "node:fs/promises";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { completed, failed, refused, refusedOn } from "../support/callResults.js";
import { eventually } from "../support/eventually.js";
import { mockProvider } from "../support/model/mockProvider.js";
import { startResponsesServer } from "../support/model/responsesServer.js";
import { MAIN, type McpServer, startServer } from "../support/processes/mcpServer.js";
import { valueAt } from "../support/scenarios/scenario.js";
import { setStage } from "../support/stage.js";
import { rolloutFile, spokenOn } from "../support/threads/storedThread.js";

const FULL_DISK = fileURLToPath(new URL("../programs/fullDisk.cjs", import.meta.url));

async function beginThread(server: McpServer, prompt = "!say one"): Promise<string> {
  const call = server.call("codex", { prompt });
  const threadId = await call.threadId();
  expect(await call.result()).toMatchObject({ structuredContent: { threadId } });
  return threadId;
}

/** Files that the test runner has open would count as the server's, and may be above the limit. */
function serverWithFewFiles(limit: number): readonly [string, ...string[]] {
  const closeOthers = 'for fd in $(ls /proc/self/fd); do [ "$fd" -lt 3 ] || eval "exec $fd>&-"; done';
  return ["bash", "-c", `${closeOthers}; ulimit -n ${limit}; exec "$@"`, "bash", process.execPath, MAIN];
}

describe.concurrent("when threads cannot be written", () => {
  it("the call fails with the remedy, the server continues, and calls work once the cause is gone", async () => {
    await using server = await startServer();
    const obstacle = path.join(server.stage.codexHome, "sessions");
    await writeFile(obstacle, "");
    const call = server.call("codex", { prompt: "!say hi" });
    const why = expect.stringMatching(
      /^Cannot create the thread's file .*\.jsonl: not a directory\. Something that is not a folder is in the way: move it, or set CODEX_HOME to another folder\.$/,
    );
    expect(await call.result()).toEqual(failed(expect.any(String), why));
    expect(await server.request("ping")).toEqual({});
    await rm(obstacle);
    expect(await beginThread(server)).toEqual(expect.any(String));
  });

  it.each(["/sys", "/proc"])("because nobody can create a folder in the home folder, %s, the call fails with the remedy", async (home) => {
    await using server = await startServer({ env: { CODEX_HOME: "", HOME: home } });
    const why = expect.stringMatching(
      new RegExp(
        `^Cannot create the folder for threads and settings \\(E.* mkdir '${home}/\\.codex'\\)\\. Set CODEX_HOME to a folder that this user can write\\.$`,
      ),
    );
    expect(await server.call("codex", { prompt: "!say hi" }).result()).toEqual(refused(why));
  });

  it("because the lock folder cannot be made, the call fails with the remedy", async () => {
    await using server = await startServer();
    await writeFile(path.join(server.stage.codexHome, "mcp-server"), "");
    const call = server.call("codex", { prompt: "!say hi" });
    expect(await call.result()).toEqual(
      failed(expect.any(String), expect.stringMatching(/^Cannot lock the thread .* move it, or set CODEX_HOME/)),
    );
    expect(await server.request("ping")).toEqual({});
  });

  it.each(["mcp-server", "sessions"])(
    "because %s is in the way, a thread that continues later is stored with its context",
    async (name) => {
      await using stage = await setStage();
      await using model = await startResponsesServer();
      const start = { stage, args: ["--engine", "native"], config: mockProvider(model.url) };
      await using first = await startServer(start);
      const obstacle = path.join(stage.codexHome, name);
      await writeFile(obstacle, "");
      const failing = await first.call("codex", { prompt: "!say never" }).result();
      await rm(obstacle);
      const threadId = String(valueAt(failing, "structuredContent.threadId"));
      await first.call("codex-reply", { threadId, prompt: "!say one" }).result();
      await first.closeAndWait();
      await using second = await startServer(start);
      await second.call("codex-reply", { threadId, prompt: "!say two" }).result();
      expect(model.requests.at(-1)?.body.input).toMatchObject([
        { role: "developer" },
        { role: "user", content: [{ text: expect.stringContaining("<environment_context>") }] },
        { content: [{ text: "!say one" }] },
        { content: [{ text: "one" }] },
        { content: [{ text: "!say two" }] },
      ]);
    },
  );

  it("because too many files are open, the calls that got none fail with the remedy, and later ones work in the sandbox", async () => {
    await using server = await startServer({ command: serverWithFewFiles(64) });
    const calls = Array.from({ length: 60 }, () => server.call("codex", { prompt: "!delay 200\n!say hi" }));
    const results = await Promise.all(calls.map((call) => call.result()));
    const failures = results.filter(({ isError }) => isError).map((failure) => String(valueAt(failure, "content.0.text")));
    expect(failures.length).toBeGreaterThan(0);
    for (const failure of failures)
      expect(failure).toMatch(/too many open files.*(?:Raise|raise) the limit of open files \(ulimit -n\), or run fewer/i);
    expect(await server.call("codex", { prompt: "!say later" }).result()).toMatchObject({
      structuredContent: { content: "later", sandbox: { enforcedBy: "bubblewrap" } },
    });
  });

  it("because too many files are open, commands that got none fail, and leave none open", async () => {
    await using server = await startServer({ command: serverWithFewFiles(260) });
    const openFiles = () => readdirSync(`/proc/${server.process.pid}/fd`).length;
    const run = async (sandbox: string, count: number) => {
      const command = ["sleep", "0.2"];
      const calls = Array.from({ length: count }, () => server.call("codex-exec", { command, sandbox }));
      return await Promise.all(calls.map((call) => call.result()));
    };
    for (const sandbox of ["danger-full-access", "read-only"]) {
      await run(sandbox, 1);
      const before = openFiles();
      for (let round = 0; round < 3; round++) {
        const results = await run(sandbox, 120);
        expect(results.some(({ isError }) => isError)).toBe(true);
      }
      await eventually("the pipes are closed", () => (openFiles() <= before + 32 ? true : undefined));
    }
  });

  it("because the disk is full, the turn fails, other calls are answered, and the thread continues once there is space", async () => {
    await using stage = await setStage();
    const flag = path.join(stage.root, "full");
    await using server = await startServer({
      stage,
      command: [process.execPath, "--require", FULL_DISK, MAIN],
      env: { FULL_DISK: flag },
    });
    const threadId = await beginThread(server);
    await writeFile(flag, "");
    const why = expect.stringMatching(/^Cannot write the thread's file .*: no space left on device\. Free some space, then try again\.$/);
    expect(await server.call("codex-reply", { threadId, prompt: "!say lost" }).result()).toEqual(failed(threadId, why));
    expect(await server.call("codex", { prompt: "!say hi" }).result()).toEqual(failed(expect.any(String), why));
    expect(await server.request("ping")).toEqual({});
    await rm(flag);
    expect(await server.call("codex-reply", { threadId, prompt: "!say two" }).result()).toEqual(completed(threadId, "two"));
    expect(spokenOn(stage, threadId)).toEqual(["user: !say one", "assistant: one", "user: !say two", "assistant: two"]);
  });
});

describe.concurrent("a rollout that was damaged", () => {
  const DAMAGES: Readonly<Record<string, { damage: (file: string) => Promise<void>; why: string }>> = {
    emptied: { damage: (file) => truncate(file), why: "empty session file. Restore the file, or start a new thread." },
    "overwritten with garbage": {
      damage: (file) => writeFile(file, "\u0000\u0001 not a rollout\n{]\n"),
      why: "failed to parse thread ID from rollout file (it has no valid session_meta line). Restore the file, or start a new thread.",
    },
    "cut within its first line": {
      damage: (file) => truncate(file, 40),
      why: "failed to parse thread ID from rollout file (it has no valid session_meta line). Restore the file, or start a new thread.",
    },
  };

  it.each(Object.entries(DAMAGES))("%s fails the reply with a clear error, and nothing else", async (_, { damage, why }) => {
    await using stage = await setStage();
    await using first = await startServer({ stage });
    const threadId = await beginThread(first);
    await first.closeAndWait();
    const file = rolloutFile(stage, threadId);
    await damage(file);
    await using second = await startServer({ stage });
    expect(await second.call("codex-reply", { threadId, prompt: "!say two" }).result()).toEqual(
      refusedOn(threadId, `Cannot read the thread's file ${file}: ${why}`),
    );
    expect(await beginThread(second)).not.toEqual(threadId);
  });

  it("at its end, or in single lines, continues with everything that can be read", async () => {
    await using stage = await setStage();
    await using model = await startResponsesServer();
    const start = { stage, args: ["--engine", "native"], config: mockProvider(model.url) };
    await using first = await startServer(start);
    const threadId = await beginThread(first);
    await first.closeAndWait();
    const file = rolloutFile(stage, threadId);
    await appendFile(file, '{"garbage": }\n{"timestamp":"2025-01-01T00:00:00Z","type":"response_item","payload":{"type":"mess');
    await using second = await startServer(start);
    expect(await second.call("codex-reply", { threadId, prompt: "!say two" }).result()).toEqual(completed(threadId, "two", "native"));
    expect(model.requests.at(-1)?.body.input.slice(-3)).toMatchObject([
      { role: "user", content: [{ text: "!say one" }] },
      { role: "assistant", content: [{ text: "one" }] },
      { role: "user", content: [{ text: "!say two" }] },
    ]);
    expect(await readFile(file, "utf8")).not.toMatch(/"type":"mess($|\{)/m);
  });

  it("deleted while the thread is loaded fails the reply with a clear error, and nothing else", async () => {
    await using server = await startServer();
    const threadId = await beginThread(server);
    const file = rolloutFile(server.stage, threadId);
    await rm(file);
    expect(await server.call("codex-reply", { threadId, prompt: "!say two" }).result()).toEqual(
      failed(threadId, `The thread's file ${file} is gone. Put it back, or start a new thread.`),
    );
    expect(await beginThread(server)).not.toEqual(threadId);
  });
});

describe.concurrent("two servers on one thread", () => {
  it("take turns: the second gets an error that names the writer, and afterwards each sees the other's messages", async () => {
    await using stage = await setStage();
    await using first = await startServer({ stage });
    await using second = await startServer({ stage });
    const threadId = await beginThread(first);
    const running = first.call("codex-reply", { threadId, prompt: "!hang" });
    await running.event("user_message");
    expect(await second.call("codex-reply", { threadId, prompt: "!say two" }).result()).toEqual(
      failed(
        threadId,
        `Thread ${threadId} is in use by another process (process ${first.process.pid}). Wait until its turn has ended, then call again.`,
      ),
    );
    for (const [tool, args] of [
      ["codex-wait", {}],
      ["codex-reply", {}],
      ["codex-steer", { prompt: "more" }],
      ["codex-manage", { action: "stop" }],
    ] as const)
      expect(await second.call(tool, { threadId, ...args }).result()).toMatchObject({
        isError: true,
        content: [{ text: expect.stringContaining(`is in use by another process (process ${first.process.pid})`) }],
      });
    expect(await first.call("codex-manage", { threadId, action: "archive" }).result()).toMatchObject({
      isError: true,
      content: [
        { text: expect.stringMatching(/A turn runs or waits.*`codex-wait` returns its answer, `codex-manage` with `stop` ends it/) },
      ],
    });
    first.cancel(running.id);
    await running.event("turn_aborted");
    expect(await second.call("codex-reply", { threadId, prompt: "!say two" }).result()).toEqual(completed(threadId, "two"));
    expect(await first.call("codex-reply", { threadId, prompt: "!say three" }).result()).toEqual(completed(threadId, "three"));
    expect(spokenOn(stage, threadId)).toEqual([
      "user: !say one",
      "assistant: one",
      "user: !hang",
      "user: !say two",
      "assistant: two",
      "user: !say three",
      "assistant: three",
    ]);
  });

  it("send the model the whole conversation, whichever process wrote its parts", async () => {
    await using stage = await setStage();
    await using model = await startResponsesServer();
    const start = { stage, args: ["--engine", "native"], config: mockProvider(model.url) };
    await using first = await startServer(start);
    await using second = await startServer(start);
    const threadId = await beginThread(first);
    await second.call("codex-reply", { threadId, prompt: "!say two" }).result();
    await first.call("codex-reply", { threadId, prompt: "!say three" }).result();
    expect(model.requests.at(-1)?.body.input.slice(-5)).toMatchObject(
      ["!say one", "one", "!say two", "two", "!say three"].map((text) => ({ content: [{ text }] })),
    );
  });
});
