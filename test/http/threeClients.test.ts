import { expect, it } from "vitest";
import { completed } from "../support/callResults.js";
import { eventually } from "../support/eventually.js";
import { joinWithCurl, joinWithV1, joinWithV2, type Participant } from "../support/http/httpParticipants.js";
import { startHttpServer } from "../support/http/httpServer.js";
import { valueAt } from "../support/scenarios/scenario.js";
import { workspaceFiles } from "../support/stage.js";

const KINDS: Readonly<Record<string, (port: number) => Promise<Participant>>> = {
  "SDK 1.x": joinWithV1,
  "SDK 2.x": (port) => joinWithV2(port),
  curl: joinWithCurl,
};

const BEGUN = /^Thread [0-9a-f-]{36}: Thinking$/;

const stepsOf = (events: readonly unknown[]) => events.map((event) => String(valueAt(event, "msg.type")));
const wordsOf = (events: readonly unknown[]) =>
  events.filter((event) => valueAt(event, "msg.type") === "agent_message_delta").map((event) => valueAt(event, "msg.delta"));

/** A typical sequence: answers questions, watches a turn, cancels a call, loses the connection, and continues. */
async function journey(participant: Participant, name: string): Promise<unknown> {
  const { events } = participant;
  const since = (from: number) => events.slice(from);

  const progress: unknown[] = [];
  const approved = await participant.call(
    "codex",
    { prompt: `!shell touch "${name}.txt"`, "approval-policy": "untrusted", sandbox: "workspace-write" },
    { onprogress: ({ message }) => progress.push(message) },
  );
  const threadId = String(valueAt(approved, "structuredContent.threadId"));

  const cancelled = events.length;
  const abort = new AbortController();
  const unwanted = participant.call("codex", { prompt: "!hang" }, { signal: abort.signal }).then(
    (result) => valueAt(result, "isError"),
    () => "gave up",
  );
  await eventually(`${name}: the turn to cancel`, () => stepsOf(since(cancelled)).find((step) => step === "user_message"));
  abort.abort("no longer wanted");
  await eventually(`${name}: its end`, () => stepsOf(since(cancelled)).find((step) => step === "turn_aborted"));
  expect(await unwanted).toBeOneOf([true, "gave up"]);

  const calm = events.length;
  await participant.call("codex-reply", { threadId, prompt: "!slow 40 25" });
  await eventually(`${name}: the calm turn`, () => stepsOf(since(calm)).find((step) => step === "task_complete"));
  const calmEvents = since(calm);

  const stormy = events.length;
  const interruptedCall = participant.call("codex-reply", { threadId, prompt: "!slow 40 25" });
  for (const words of [3, 12, 25]) {
    await eventually(`${name}: word ${words}`, () => wordsOf(since(stormy))[words]);
    participant.breakNetwork();
  }
  const answer = await interruptedCall;
  await eventually(`${name}: the stormy turn`, () => stepsOf(since(stormy)).find((step) => step === "task_complete"));

  expect(answer).toEqual(completed(threadId, wordsOf(calmEvents).join("")));
  expect(wordsOf(since(stormy))).toEqual(wordsOf(calmEvents));
  expect(stepsOf(since(stormy))).toEqual(stepsOf(calmEvents));
  // The POST of a cancelled call ends with a result, which the official clients no longer expect.
  const complaints = participant.complaints.filter((complaint) => !/^Received a response for an unknown .*"interrupted"/.test(complaint));
  return { asked: participant.questions.length, progress, complaints };
}

it("official clients of both generations and curl share one server, with approvals, progress, cancel, reconnect and resume", async () => {
  await using server = await startHttpServer();
  const journeys = Object.entries(KINDS).map(async ([name, join]) => {
    await using participant = await join(server.port);
    return await journey(participant, name);
  });
  const progress = expect.arrayContaining([
    expect.stringMatching(BEGUN),
    expect.stringMatching(/^Waiting for approval to run/),
    "Going on",
  ]);
  for (const told of await Promise.all(journeys)) expect(told).toEqual({ asked: 1, progress, complaints: [] });
  expect(Object.keys(await workspaceFiles(server.running.stage)).sort()).toEqual(
    Object.keys(KINDS)
      .map((name) => `${name}.txt`)
      .sort(),
  );
});

it("an official client that tries newer revisions first is served, whichever it chooses", async () => {
  await using server = await startHttpServer();
  await using participant = await joinWithV2(server.port, { mode: "auto" });
  const progress: unknown[] = [];
  const result = await participant.call(
    "codex",
    { prompt: "!shell touch made.txt", "approval-policy": "untrusted", sandbox: "workspace-write" },
    { onprogress: ({ message }) => progress.push(message) },
  );
  expect(result).toMatchObject({ structuredContent: { content: "done" } });
  expect(participant.questions).toEqual([expect.stringContaining("touch made.txt")]);
  expect(progress).toContainEqual(expect.stringMatching(BEGUN));
  expect(await workspaceFiles(server.running.stage)).toEqual({ "made.txt": "" });
});
