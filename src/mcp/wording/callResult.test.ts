import { describe, expect, it } from "vitest";
import { threadIdOf } from "../../lib/ids.js";
import { failureOn, refusal, resultOf } from "./callResult.js";

const THREAD = threadIdOf("01a1dd1a-6d22-73e1-88aa-ccf523ae5caa");
const CONTEXT = { threadId: THREAD, nameThreadInText: false, meta: { "codex-mcpd/turn": { engine: "native" } } };
const META = '"_meta":{"codex-mcpd/turn":{"engine":"native"}}';

describe("the answer to a call", () => {
  it("that was refused before it had a thread is an error without one", () => {
    expect(JSON.stringify(refusal("no such profile"))).toBe('{"content":[{"text":"no such profile","type":"text"}],"isError":true}');
  });

  it("that failed on a thread is an error that names it", () => {
    expect(JSON.stringify(failureOn(THREAD, "not found"))).toBe(
      `{"content":[{"text":"not found","type":"text"}],"isError":true,"structuredContent":{"threadId":"${THREAD}","content":"not found"}}`,
    );
  });

  it("whose turn completed is its last message", () => {
    expect(JSON.stringify(resultOf({ status: "completed", lastMessage: "done" }, CONTEXT))).toBe(
      `{"content":[{"text":"done","type":"text"}],"structuredContent":{"threadId":"${THREAD}","content":"done"},${META}}`,
    );
  });

  it("whose turn said nothing is empty", () => {
    expect(JSON.stringify(resultOf({ status: "completed", lastMessage: null }, CONTEXT))).toBe(
      `{"content":[{"text":"","type":"text"}],"structuredContent":{"threadId":"${THREAD}","content":""},${META}}`,
    );
  });

  it("of a client that does not see the structured part names the thread in a text of its own", () => {
    expect(JSON.stringify(resultOf({ status: "completed", lastMessage: "done" }, { ...CONTEXT, nameThreadInText: true }))).toBe(
      `{"content":[{"text":"done","type":"text"},{"text":"threadId: ${THREAD}","type":"text"}],"structuredContent":{"threadId":"${THREAD}","content":"done"},${META}}`,
    );
  });

  it("whose turn failed says why", () => {
    expect(JSON.stringify(resultOf({ status: "failed", message: "no model" }, CONTEXT))).toBe(
      `{"content":[{"text":"no model","type":"text"}],"isError":true,"structuredContent":{"threadId":"${THREAD}","content":"no model"},${META}}`,
    );
  });

  it("whose turn was interrupted is an error that says how to go on", () => {
    const why = "The turn was interrupted before it ended. The thread can be continued with codex-reply.";
    expect(JSON.stringify(resultOf({ status: "interrupted" }, CONTEXT))).toBe(
      `{"content":[{"text":"${why}","type":"text"}],"isError":true,"structuredContent":{"threadId":"${THREAD}","content":"${why}"},${META}}`,
    );
  });
});
