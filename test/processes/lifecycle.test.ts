import { readdirSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { completed, interrupted } from "../support/callResults.js";
import { eventually } from "../support/eventually.js";
import { mockProvider } from "../support/model/mockProvider.js";
import { startResponsesServer } from "../support/model/responsesServer.js";
import { MAIN, startServer } from "../support/processes/mcpServer.js";
import { setStage } from "../support/stage.js";
import { spokenOn, storyOf } from "../support/threads/storedThread.js";

const CLEAN_EXIT = { code: 0, signal: null };
const SHORT_GRACE = ["--engine", "scripted", "--eof-grace", "0.2"];
/** Longer than the limit of a test, so a test that waits for it fails. */
const LONG_GRACE = ["--engine", "scripted", "--eof-grace", "600"];
const LAUNCHER = fileURLToPath(new URL("../programs/launcher.mjs", import.meta.url));
const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

describe.concurrent("when the client closes stdin", () => {
  it("a server that never got a message ends", async () => {
    await using server = await startServer();
    expect(await server.closeAndWait()).toEqual(CLEAN_EXIT);
  });

  it("an idle server ends at once, without its grace", async () => {
    await using server = await startServer({ args: LONG_GRACE });
    await server.call("codex", { prompt: "!say hi" }).result();
    expect(await server.closeAndWait()).toEqual(CLEAN_EXIT);
  });

  it("a turn shorter than the grace is answered in full", async () => {
    await using server = await startServer({ args: LONG_GRACE });
    const call = server.call("codex", { prompt: "!slow 20 20" });
    await call.event("agent_message_delta");
    expect(await server.closeAndWait()).toEqual(CLEAN_EXIT);
    const words = Array.from({ length: 20 }, (_, word) => `w${word} `);
    expect(call.events.filter(({ type }) => type === "agent_message_delta").map(({ delta }) => delta)).toEqual(words);
    expect(await call.result()).toEqual(completed(await call.threadId(), words.join("")));
  });

  it("a call whose line has no newline is still answered", async () => {
    await using server = await startServer({ args: LONG_GRACE });
    server.write('{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"codex","arguments":{"prompt":"!say last words"}}}');
    expect(await server.closeAndWait()).toEqual(CLEAN_EXIT);
    expect(server.answersTo(1)).toMatchObject([{ result: { structuredContent: { content: "last words" } } }]);
  });

  it("a turn that hangs is interrupted after the grace, its call answered", async () => {
    await using server = await startServer({ args: SHORT_GRACE });
    const call = server.call("codex", { prompt: "!hang" });
    await call.event("user_message");
    expect(await server.closeAndWait()).toEqual(CLEAN_EXIT);
    expect(call.events.at(-1)).toMatchObject({ type: "turn_aborted", reason: "interrupted" });
    expect(await call.result()).toEqual(interrupted(await call.threadId()));
  });

  it("every running and waiting call is answered", async () => {
    await using server = await startServer({ args: SHORT_GRACE });
    const running = server.call("codex", { prompt: "!hang" });
    const threadId = await running.threadId();
    const waiting = server.call("codex-reply", { threadId, prompt: "!say never said" });
    const other = server.call("codex", { prompt: "!hang" });
    await other.event("user_message");
    expect(await server.closeAndWait()).toEqual(CLEAN_EXIT);
    expect([await running.result(), await other.result()]).toEqual([interrupted(threadId), interrupted(await other.threadId())]);
    const unseen = "The turn was stopped before it began: the server is shutting down. The agent has not seen its prompt.";
    expect(await waiting.result()).toMatchObject({
      isError: true,
      content: [{ text: expect.stringContaining(unseen) }, {}],
      structuredContent: { threadId, status: "interrupted", content: unseen },
    });
  });

  it("because the client was killed, nothing of the server is left", async () => {
    await using server = await startServer({
      command: [process.execPath, LAUNCHER, process.execPath, MAIN],
      args: SHORT_GRACE,
    });
    await server.call("codex", { prompt: "!hang" }).event("user_message");
    server.process.kill("SIGKILL");
    expect(await server.leftBehind()).toEqual([]);
  });
});

describe.concurrent("when a signal comes", () => {
  it.each(SIGNALS)("%s ends an idle server", async (signal) => {
    await using server = await startServer();
    await server.initialize();
    server.process.kill(signal);
    expect(await server.exit()).toEqual(CLEAN_EXIT);
  });

  it.each(SIGNALS)("%s interrupts a turn, answers its call and leaves a whole rollout", async (signal) => {
    await using server = await startServer({ args: LONG_GRACE });
    const call = server.call("codex", { prompt: "!slow 1000 20" });
    await call.event("agent_message_delta");
    const threadId = await call.threadId();
    server.process.kill(signal);
    expect(await server.exit()).toEqual(CLEAN_EXIT);
    expect(await call.result()).toEqual(interrupted(threadId));
    expect(storyOf(server.stage, threadId).slice(-2)).toEqual([expect.stringMatching(/^user: <turn_aborted>/), "turn_aborted"]);
    expect(await server.leftBehind()).toEqual([]);
  });

  it("right after a call came in, the call is still answered", async () => {
    await using server = await startServer({ args: LONG_GRACE });
    await server.initialize();
    const call = server.call("codex", { prompt: "!hang" });
    await server.request("ping");
    server.process.kill("SIGTERM");
    expect(await server.exit()).toEqual(CLEAN_EXIT);
    expect(server.answersTo(call.id)).toMatchObject([{ result: { isError: true } }]);
  });

  it("during the grace after a closed stdin, the grace ends at once", async () => {
    await using server = await startServer({ args: LONG_GRACE });
    const call = server.call("codex", { prompt: "!hang" });
    const threadId = await call.threadId();
    server.process.closeStdin();
    server.process.kill("SIGTERM");
    expect(await server.exit()).toEqual(CLEAN_EXIT);
    expect(await call.result()).toEqual(interrupted(threadId));
  });

  it("a second signal does not wait for a client that does not read", async () => {
    await using server = await startServer({ args: LONG_GRACE });
    await server.initialize();
    server.process.pauseStdout();
    server.call("codex", { prompt: `${"x".repeat(2_000_000)}\n!hang` });
    await eventually("the turn is running", () => storyOf(server.stage).find((entry) => entry === "user_message"));
    server.process.kill("SIGTERM");
    await eventually("the turn is interrupted", () => storyOf(server.stage).find((entry) => entry === "turn_aborted"));
    server.process.kill("SIGTERM");
    expect(await server.leftBehind()).toEqual([]);
    server.process.resumeStdout();
    expect(await server.exit()).toEqual({ code: 143, signal: null });
  });
});

describe.concurrent("when a part of the client is gone", () => {
  it("a closed stdout ends the server, and nothing of it is left", async () => {
    await using server = await startServer({ args: SHORT_GRACE });
    await server.call("codex", { prompt: "!slow 100000 5" }).event("agent_message_delta");
    server.process.closeReadingEnd("stdout");
    expect(await server.exit()).toEqual(CLEAN_EXIT);
    expect(await server.leftBehind()).toEqual([]);
    expect(storyOf(server.stage).at(-1)).toEqual("turn_aborted");
  });

  it("a closed stderr has no effect", async () => {
    await using server = await startServer();
    await server.initialize();
    server.process.closeReadingEnd("stderr");
    server.write("this is no message, and the server says so on stderr\n");
    const call = server.call("codex", { prompt: "!say still here", config: { no_such_key: 1 } });
    expect(await call.result()).toEqual(completed(await call.threadId(), "still here"));
    expect(await server.closeAndWait()).toEqual(CLEAN_EXIT);
  });
});

describe.concurrent("after a restart", () => {
  it("a thread continues with its whole history", async () => {
    await using stage = await setStage();
    await using first = await startServer({ stage });
    const call = first.call("codex", { prompt: "!say one" });
    const threadId = await call.threadId();
    await call.result();
    expect(await first.closeAndWait()).toEqual(CLEAN_EXIT);
    await using second = await startServer({ stage });
    expect(await second.call("codex-reply", { threadId, prompt: "!say two" }).result()).toEqual(completed(threadId, "two"));
    expect(spokenOn(stage, threadId)).toEqual(["user: !say one", "assistant: one", "user: !say two", "assistant: two"]);
  });

  it("replies that name a thread at the same moment are answered one after the other", async () => {
    await using stage = await setStage();
    await using first = await startServer({ stage });
    const call = first.call("codex", { prompt: "!say one" });
    const threadId = await call.threadId();
    await first.closeAndWait();
    await using second = await startServer({ stage });
    const replies = ["two", "three", "four"].map((word) => second.call("codex-reply", { threadId, prompt: `!say ${word}` }));
    expect(await Promise.all(replies.map((reply) => reply.result()))).toEqual(
      ["two", "three", "four"].map((word) => completed(threadId, word)),
    );
    const said = ["one", "two", "three", "four"].flatMap((word) => [`user: !say ${word}`, `assistant: ${word}`]);
    expect(spokenOn(stage, threadId)).toEqual(said);
  });

  it("a thread whose server was killed in a turn continues after the last event on disk", async () => {
    await using stage = await setStage();
    await using model = await startResponsesServer();
    const start = { stage, args: ["--engine", "native"], config: mockProvider(model.url) };
    await using first = await startServer(start);
    const call = first.call("codex", { prompt: "!plan look|answer\n!slow 1000 20" });
    await call.event("agent_message_delta");
    const threadId = await call.threadId();
    first.process.kill("SIGKILL");
    await first.exit();
    await using second = await startServer(start);
    const reply = second.call("codex-reply", { threadId, prompt: "!say and on" });
    expect(await reply.result()).toEqual(completed(threadId, "and on", "native"));
    expect(model.requests.at(-1)?.body.input.slice(-4)).toMatchObject([
      { role: "user", content: [{ text: "!plan look|answer\n!slow 1000 20" }] },
      { type: "function_call", name: "update_plan" },
      { type: "function_call_output", output: "Plan updated" },
      { role: "user", content: [{ text: "!say and on" }] },
    ]);
  });

  it("a folder in which a killed server tested its sandbox is removed by the next server", async () => {
    await using stage = await setStage();
    const killer = path.join(stage.root, "killer");
    await writeFile(killer, "#!/bin/sh\nkill -KILL $PPID\n", { mode: 0o755 });
    const scratch = () => readdirSync(path.join(stage.codexHome, "mcp-server", "tmp"));
    await using first = await startServer({ stage, args: ["--engine", "scripted", "--sandbox-bin", killer] });
    first.call("codex", { prompt: "!say never" });
    await first.exit();
    expect(scratch()).toHaveLength(1);
    await using second = await startServer({ stage });
    await second.call("codex", { prompt: "!say hi" }).result();
    await eventually("both servers' folders are removed", () => (scratch().length === 0 ? true : undefined));
  });
});
