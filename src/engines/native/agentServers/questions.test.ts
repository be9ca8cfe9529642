import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { Deadline, deferred } from "../../../lib/promises.js";
import { type McpAnswer, Questions } from "./questions.js";

beforeEach(() => vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] }));
afterEach(() => vi.useRealTimers());

const NEVER = new AbortController().signal;
const QUESTION = { server: "desk", message: "Which colour?", requestedSchema: { type: "object" } };
const BLUE: McpAnswer = { action: "accept", content: { colour: "blue" } };

it("the time of a call stands still from the first open question to the last answer, even for a call that begins meanwhile", async () => {
  const answers = [deferred<McpAnswer>(), deferred<McpAnswer>()];
  const left = [...answers];
  const questions = new Questions(() => left.shift()?.promise ?? Promise.resolve(BLUE));
  using first = new Deadline(100, () => new Error("too late"));
  using second = new Deadline(100, () => new Error("too late"));
  const call = deferred<void>();
  const calls = [questions.during(first, () => call.promise)];
  const asked = [questions.ask(QUESTION, NEVER), questions.ask(QUESTION, NEVER)];
  calls.push(questions.during(second, () => call.promise));
  vi.advanceTimersByTime(1000);
  answers[0]?.resolve(BLUE);
  await asked[0];
  vi.advanceTimersByTime(1000);
  answers[1]?.resolve(BLUE);
  await asked[1];
  expect([first.signal.aborted, second.signal.aborted]).toEqual([false, false]);
  vi.advanceTimersByTime(100);
  expect([first.signal.aborted, second.signal.aborted]).toEqual([true, true]);
  call.resolve();
  await Promise.all(calls);
});

it("a question is withdrawn when the server cancels it, and when the last call has ended", async () => {
  const withdrawn: string[] = [];
  const questions = new Questions(
    ({ message }, { signal }) =>
      new Promise((resolve) =>
        signal.addEventListener("abort", () => {
          withdrawn.push(message);
          resolve({ action: "cancel" });
        }),
      ),
  );
  const server = new AbortController();
  const takenBack = questions.ask({ ...QUESTION, message: "taken back" }, server.signal);
  server.abort();
  await takenBack;
  using limit = new Deadline(100, () => new Error("too late"));
  const [first, second] = [deferred<void>(), deferred<void>()];
  const calls = [questions.during(limit, () => first.promise), questions.during(limit, () => second.promise)];
  const left = questions.ask({ ...QUESTION, message: "left over" }, NEVER);
  first.resolve();
  await calls[0];
  second.resolve();
  await Promise.all([...calls, left]);
  expect(withdrawn).toEqual(["taken back", "left over"]);
});

it("a question that cannot be asked is cancelled, and one without a listener is declined", async () => {
  expect(await new Questions(() => Promise.reject(new Error("no desk"))).ask(QUESTION, NEVER)).toEqual({ action: "cancel" });
  expect(await new Questions(undefined).ask(QUESTION, NEVER)).toEqual({ action: "decline" });
});
