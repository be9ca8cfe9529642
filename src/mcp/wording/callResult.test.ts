import { describe, expect, it } from "vitest";
import { InvalidArguments } from "../../agent/errors.js";
import { type DecidedQuestion, ReceiptCollector } from "../../agent/receipt.js";
import { threadIdOf } from "../../lib/ids.js";
import { ThreadNotFound } from "../../threads/errors.js";
import type { ClientProfile } from "../clientProfiles.js";
import { failureOn, presented, type ResultContext, refusal, turnResult } from "./callResult.js";

const THREAD = threadIdOf("01a1dd1a-6d22-73e1-88aa-ccf523ae5caa");
const CONTEXT: ResultContext = {
  threadId: THREAD,
  engine: "native",
  receipt: new ReceiptCollector(() => 0).receipt({ from: "patches", list: [] }),
  results: "extended",
  resultTokens: 20_000,
  reader: { client: { shows: "structured" }, takesStructured: true },
};
const FIELDS = '"files":[],"commands":{"run":0,"failed":0},"approvals":{"asked":0,"allowed":0,"denied":0},"ms":0';
const META = '"_meta":{"codex-mcpd/turn":{"engine":"native"}}';
const COMMAND = {
  kind: "command",
  callId: "1",
  command: ["touch", "x"],
  commandText: "touch x",
  cwd: "/repo",
  parsed: [],
  staysInSandbox: false,
  needsPerson: false,
} as const;
const DONE = { status: "completed", lastMessage: "done" } as const;

function textsFor(
  shows: ClientProfile["shows"],
  { outcome = DONE, takesStructured = true }: { outcome?: Parameters<typeof turnResult>[0]; takesStructured?: boolean } = {},
) {
  return turnResult(outcome, { ...CONTEXT, reader: { client: { shows }, takesStructured } }).content.map(({ text }) => text);
}

describe("remedies", () => {
  const FOUND_BY =
    "`codex-threads` lists the threads that you can continue (`archived: true`: the archived ones); `codex` begins a new one. " +
    "Over HTTP, a thread that another of your sessions has used is available one minute after the client of that session has left.";

  it("follow an error in the text and in the structured part, but not in the recorded style", () => {
    const draft = failureOn(THREAD, new ThreadNotFound(THREAD));
    const recorded = `Session not found for thread_id: ${THREAD}`;
    expect([presented(draft, { results: "extended" }), presented(draft, { results: "recorded" })]).toEqual([
      {
        content: [{ type: "text", text: `${recorded}. ${FOUND_BY}` }],
        isError: true,
        structuredContent: { threadId: THREAD, content: `${recorded}. ${FOUND_BY}`, status: "failed" },
        _meta: { "codex-mcpd/error": "thread_not_found" },
      },
      { content: [{ type: "text", text: recorded }], isError: true, structuredContent: { threadId: THREAD, content: recorded } },
    ]);
  });
});

it("an error names its cause whatever the budget is, and names no place where the cause is not", () => {
  const message = `Provider \`x\` refused the key. ${"y".repeat(9_000)} Replace it.`;
  const { content, structuredContent } = turnResult({ status: "failed", message }, { ...CONTEXT, resultTokens: 1 });
  for (const text of [content[0]?.text, structuredContent?.["content"]]) {
    expect(text).toMatch(/^Provider `x` refused the key\. y+\n/);
    expect(text).toMatch(/y Replace it\.(\n|$)/);
    expect(text).not.toContain("codex-threads");
  }
});

describe("remarks on a call", () => {
  const remarks = ["Ignored: `tool`."];

  it("are in both parts of the result", () => {
    const { content, structuredContent } = turnResult(DONE, {
      ...CONTEXT,
      reader: { client: { shows: "text" }, takesStructured: true },
      remarks,
    });
    expect(structuredContent).toMatchObject({ notices: remarks });
    expect(content[1]?.text.split("\n")).toContain("note: Ignored: `tool`.");
  });

  it("are left out in the recorded style", () => {
    expect(turnResult(DONE, { ...CONTEXT, results: "recorded", remarks }).content).toEqual([{ type: "text", text: "done" }]);
  });
});

describe("the answer to a call", () => {
  it("that was refused before it had a thread is an error without a thread", () => {
    expect(JSON.stringify(refusal(new InvalidArguments("no such profile")))).toBe(
      '{"content":[{"text":"no such profile","type":"text"}],"isError":true,"_meta":{"codex-mcpd/error":"invalid_arguments"}}',
    );
  });

  it("that failed on a thread is an error whose text names it", () => {
    expect(JSON.stringify(failureOn(THREAD, new InvalidArguments("not found")))).toBe(
      `{"content":[{"text":"not found (thread ${THREAD})","type":"text"}],"isError":true,"structuredContent":{"threadId":"${THREAD}","content":"not found","status":"failed"},"_meta":{"codex-mcpd/error":"invalid_arguments"}}`,
    );
  });

  it("whose turn completed is its last message, with thread and content first", () => {
    expect(JSON.stringify(turnResult(DONE, CONTEXT))).toBe(
      `{"content":[{"text":"done","type":"text"}],"structuredContent":{"threadId":"${THREAD}","content":"done","status":"completed",${FIELDS}},${META}}`,
    );
  });

  it("of a turn without a message is empty, and says what to do, unless the tool has words for it", () => {
    const silent = { status: "completed", lastMessage: null } as const;
    const next = `The agent ended without a message. Ask what it did with codex-reply with threadId "${THREAD}".`;
    expect(turnResult(silent, CONTEXT)).toMatchObject({
      content: [{ text: "", type: "text" }],
      structuredContent: { content: "", next },
    });
    const { structuredContent } = turnResult(silent, { ...CONTEXT, ifSilent: "Summarised." });
    expect(structuredContent).toMatchObject({ content: "Summarised." });
    expect(structuredContent).not.toHaveProperty("next");
  });

  it("whose turn failed says why, on which thread, and what to do, in its first text", () => {
    const next = `The turn on thread ${THREAD} failed. When the cause is gone, go on with codex-reply with threadId "${THREAD}".`;
    expect(turnResult({ status: "failed", message: "no model" }, CONTEXT)).toEqual({
      content: [
        { text: `no model\n\n${next}`, type: "text" },
        { text: `\nthreadId: ${THREAD}\nstatus: failed after 0.0 s`, type: "text" },
      ],
      isError: true,
      structuredContent: expect.objectContaining({ threadId: THREAD, content: "no model", status: "failed", next }) as unknown,
      _meta: { "codex-mcpd/turn": { engine: "native" } },
    });
  });

  it("whose thread is too long for the model says how to shorten it", () => {
    const receipt = { ...CONTEXT.receipt, failedAs: "context_window_exceeded" } as const;
    const [first] = turnResult({ status: "failed", message: "no room" }, { ...CONTEXT, receipt }).content;
    expect(first?.text).toBe(
      `no room\n\nThread ${THREAD} is too long for the model. codex-manage with \`compact\` shortens it; then go on with codex-reply with threadId "${THREAD}", or start over with codex.`,
    );
  });

  it("whose turn was interrupted is an error that says how to continue", () => {
    const [first] = turnResult({ status: "interrupted" }, CONTEXT).content;
    expect(first?.text).toBe(
      `The turn was interrupted before it ended.\n\nThread ${THREAD} keeps what it has done. Go on with codex-reply with threadId "${THREAD}".`,
    );
  });

  it("whose turn was interrupted says in its first text who or what interrupted it", () => {
    const decisions = [{ subject: COMMAND, decision: "abort", by: "tool" }] as const;
    const receipt = { ...CONTEXT.receipt, approvals: { asked: 1, allowed: 0, denied: 1, decisions } };
    const said = (more: Partial<ResultContext>) => turnResult({ status: "interrupted" }, { ...CONTEXT, ...more }).content[0]?.text;
    expect(said({ receipt })).toMatch(
      /^The turn was interrupted before it ended: the question about touch x was answered "abort" with codex-answer\.\n/,
    );
    expect(said({ receipt, interruption: "the server is shutting down" })).toMatch(
      /^The turn was interrupted before it ended: the server is shutting down\.\n/,
    );
  });

  it("says that nothing was written if a read-only sandbox is the reason", () => {
    const next =
      'Nothing was written: the sandbox is read-only. If files should change, start the task again with codex and sandbox "workspace-write".';
    const refused = { ...CONTEXT, receipt: { ...CONTEXT.receipt, isWriteRefused: true } };
    expect(turnResult(DONE, refused).structuredContent).toMatchObject({ next });
    const allowed = { ...refused.receipt, approvals: { ...refused.receipt.approvals, asked: 1, allowed: 1 } };
    expect(turnResult(DONE, { ...refused, receipt: allowed }).structuredContent).toMatchObject({
      next: next.replace("Nothing was written", "A write was refused"),
    });
    const wrote = { from: "git", list: [{ path: "/x", kind: "add" }] } as const;
    expect(turnResult(DONE, { ...refused, receipt: { ...refused.receipt, files: wrote } }).structuredContent).not.toHaveProperty("next");
  });
});

describe("the result of a turn with a denied question", () => {
  const nextAfter = (decision: "denied" | "approved", by: DecidedQuestion["by"]) => {
    const decisions = [{ subject: COMMAND, decision, by }];
    const approvals = { asked: 1, allowed: 0, denied: 1, decisions };
    return turnResult(DONE, { ...CONTEXT, receipt: { ...CONTEXT.receipt, approvals } }).structuredContent?.["next"];
  };

  it.for(["fallback", "client"] as const)("says what to do if no person was asked: %s", (by) => {
    expect(nextAfter("denied", by)).toMatch(/^Approval was denied because no person could be asked\. .*--approval-fallback hold/);
  });

  it("adds nothing if a person decided, or if it was allowed", () => {
    expect([nextAfter("denied", "elicitation"), nextAfter("denied", "tool"), nextAfter("approved", "fallback")]).toEqual([
      undefined,
      undefined,
      undefined,
    ]);
  });
});

describe("the texts of a result", () => {
  const REPORT = `\nthreadId: ${THREAD}\nstatus: completed after 0.0 s`;

  it.for([
    ["text", ["done", REPORT]],
    ["unknown", ["done", REPORT]],
    ["structured", ["done"]],
    ["both", ["done"]],
    ["everything", ["done"]],
  ] as const)("for a client that shows %s", ([shows, texts]) => {
    expect(textsFor(shows)).toEqual(texts);
  });

  it("contain everything for a client whose revision has no structured content", () => {
    expect(textsFor("structured", { takesStructured: false })).toEqual(["done", REPORT]);
  });

  it.for([
    ["text", 2],
    ["structured", 2],
    ["both", 1],
    ["everything", 1],
  ] as const)("of an error, for a client that shows %s, are %i", ([shows, count]) => {
    expect(textsFor(shows, { outcome: { status: "interrupted" } })).toHaveLength(count);
  });
});

it("a client that shows its model everything gets no `_meta`, unless the model is scripted", () => {
  const everything = { ...CONTEXT, reader: { client: { shows: "everything" }, takesStructured: true } } as const;
  expect(turnResult(DONE, everything)).not.toHaveProperty("_meta");
  expect(turnResult(DONE, { ...everything, engine: "scripted" })._meta).toEqual({ "codex-mcpd/turn": { engine: "scripted" } });
});

describe("in the recorded style", () => {
  const recorded = { ...CONTEXT, results: "recorded" } as const;
  const said = { content: [{ text: "done", type: "text" }], structuredContent: { threadId: THREAD, content: "done" } };

  it("nothing is added to Codex's result, except the name of a scripted model", () => {
    expect(turnResult(DONE, recorded)).toEqual(said);
    expect(turnResult(DONE, { ...recorded, engine: "scripted" })).toEqual({
      ...said,
      _meta: { "codex-mcpd/turn": { engine: "scripted" } },
    });
  });

  it("a long answer is complete", () => {
    const lastMessage = "x".repeat(500_000);
    expect(turnResult({ status: "completed", lastMessage }, { ...recorded, resultTokens: 100 }).structuredContent).toEqual({
      threadId: THREAD,
      content: lastMessage,
    });
  });

  it("an error is its cause alone", () => {
    const why = "not found";
    const told = { content: [{ text: why, type: "text" }], isError: true, structuredContent: { threadId: THREAD, content: why } };
    expect(presented(failureOn(THREAD, new InvalidArguments(why)), { results: "recorded" })).toEqual(told);
    expect(turnResult({ status: "failed", message: why }, recorded)).toEqual(told);
  });
});
