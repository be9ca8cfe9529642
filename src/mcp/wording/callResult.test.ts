import { describe, expect, it } from "vitest";
import { InvalidArguments } from "../../agent/errors.js";
import { Receipt } from "../../agent/receipt.js";
import { threadIdOf } from "../../lib/ids.js";
import { ThreadNotFound } from "../../threads/errors.js";
import { failureOn, presented, refusal, turnResult } from "./callResult.js";

const THREAD = threadIdOf("01a1dd1a-6d22-73e1-88aa-ccf523ae5caa");
const CONTEXT = { threadId: THREAD, nameThreadInText: false, engine: "native", receipt: new Receipt(), results: "extended" } as const;
const NOTHING_DONE = '"files":[],"commands":{"run":0,"failed":0}';

function metaOf(status: string): string {
  return `"_meta":{"codex-mcpd/turn":{"engine":"native","status":"${status}",${NOTHING_DONE}}}`;
}

describe("what helps", () => {
  const FOUND_BY =
    "`codex-threads` lists the threads that you can continue (`archived: true`: those that were put away); `codex` begins a new one.";

  it("follows an error in the text and in the structured part, but not where results are as recorded", () => {
    const draft = failureOn(THREAD, new ThreadNotFound(THREAD));
    const recorded = `Session not found for thread_id: ${THREAD}`;
    expect([presented(draft, { results: "extended" }), presented(draft, { results: "recorded" })]).toEqual([
      {
        content: [{ type: "text", text: `${recorded}. ${FOUND_BY}` }],
        isError: true,
        structuredContent: { threadId: THREAD, content: `${recorded}. ${FOUND_BY}` },
        _meta: { "codex-mcpd/error": "thread_not_found" },
      },
      { content: [{ type: "text", text: recorded }], isError: true, structuredContent: { threadId: THREAD, content: recorded } },
    ]);
  });
});

describe("remarks on a call", () => {
  const outcome = { status: "completed", lastMessage: "done" } as const;

  it("are a text of their own, and in `_meta` for programs", () => {
    const { content, structuredContent, _meta } = turnResult(outcome, { ...CONTEXT, remarks: ["Ignored: `tool`."] });
    expect({ content, structuredContent, remarks: _meta?.["codex-mcpd/remarks"] }).toEqual({
      content: [
        { type: "text", text: "done" },
        { type: "text", text: "\nIgnored: `tool`." },
      ],
      structuredContent: { threadId: THREAD, content: "done" },
      remarks: ["Ignored: `tool`."],
    });
  });

  it("are left out where results are as recorded", () => {
    const { content } = turnResult(outcome, { ...CONTEXT, results: "recorded", remarks: ["Ignored: `tool`."] });
    expect(content).toEqual([{ type: "text", text: "done" }]);
  });
});

describe("the answer to a call", () => {
  it("that was refused before it had a thread is an error without one", () => {
    expect(JSON.stringify(refusal(new InvalidArguments("no such profile")))).toBe(
      '{"content":[{"text":"no such profile","type":"text"}],"isError":true,"_meta":{"codex-mcpd/error":"invalid_arguments"}}',
    );
  });

  it("that failed on a thread is an error that names it", () => {
    expect(JSON.stringify(failureOn(THREAD, new InvalidArguments("not found")))).toBe(
      `{"content":[{"text":"not found","type":"text"}],"isError":true,"structuredContent":{"threadId":"${THREAD}","content":"not found"},"_meta":{"codex-mcpd/error":"invalid_arguments"}}`,
    );
  });

  it("whose turn completed is its last message", () => {
    expect(JSON.stringify(turnResult({ status: "completed", lastMessage: "done" }, CONTEXT))).toBe(
      `{"content":[{"text":"done","type":"text"}],"structuredContent":{"threadId":"${THREAD}","content":"done"},${metaOf("completed")}}`,
    );
  });

  it("whose turn said nothing is empty", () => {
    expect(JSON.stringify(turnResult({ status: "completed", lastMessage: null }, CONTEXT))).toBe(
      `{"content":[{"text":"","type":"text"}],"structuredContent":{"threadId":"${THREAD}","content":""},${metaOf("completed")}}`,
    );
  });

  it("of a client that does not see the structured part names the thread in a text of its own", () => {
    expect(JSON.stringify(turnResult({ status: "completed", lastMessage: "done" }, { ...CONTEXT, nameThreadInText: true }))).toBe(
      `{"content":[{"text":"done","type":"text"},{"text":"threadId: ${THREAD}","type":"text"}],"structuredContent":{"threadId":"${THREAD}","content":"done"},${metaOf("completed")}}`,
    );
  });

  it("whose turn failed says why", () => {
    expect(JSON.stringify(turnResult({ status: "failed", message: "no model" }, CONTEXT))).toBe(
      `{"content":[{"text":"no model","type":"text"}],"isError":true,"structuredContent":{"threadId":"${THREAD}","content":"no model"},${metaOf("failed")}}`,
    );
  });

  it("whose turn was interrupted is an error that says how to go on", () => {
    const why = "The turn was interrupted before it ended. The thread can be continued with codex-reply.";
    expect(JSON.stringify(turnResult({ status: "interrupted" }, CONTEXT))).toBe(
      `{"content":[{"text":"${why}","type":"text"}],"isError":true,"structuredContent":{"threadId":"${THREAD}","content":"${why}"},${metaOf("interrupted")}}`,
    );
  });

  it("in the recorded style has nothing that Codex would not have said; a scripted model is named all the same", () => {
    const recorded = { ...CONTEXT, results: "recorded" } as const;
    const said = { content: [{ text: "done", type: "text" }], structuredContent: { threadId: THREAD, content: "done" } };
    expect(turnResult({ status: "completed", lastMessage: "done" }, recorded)).toEqual(said);
    expect(turnResult({ status: "completed", lastMessage: "done" }, { ...recorded, engine: "scripted" })).toEqual({
      ...said,
      _meta: { "codex-mcpd/turn": { engine: "scripted" } },
    });
  });
});
