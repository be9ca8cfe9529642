import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type HttpServer, startHttpServer } from "../support/http/httpServer.js";
import { ALICE, BOB, type Headers, threePrincipals } from "../support/http/threePrincipals.js";
import { type Stage, setStage } from "../support/stage.js";

const OFFICIAL = fileURLToPath(new URL("../programs/mcpServerOfficial.mjs", import.meta.url));

let stage: Stage;
let server: HttpServer;
beforeAll(async () => {
  stage = await setStage();
  const config = `[mcp_servers.official]\ncommand = ${JSON.stringify(process.execPath)}\nargs = [${JSON.stringify(OFFICIAL)}]\n`;
  server = await startHttpServer({ stage, config, args: await threePrincipals(stage) });
});
afterAll(async () => {
  await server?.[Symbol.asyncDispose]();
  await stage?.[Symbol.asyncDispose]();
});

interface Told {
  readonly status: number;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers of many shapes
  readonly body: any;
}

async function api(method: string, path: string, { body, who = ALICE }: { body?: unknown; who?: Headers } = {}): Promise<Told> {
  const answer = await fetch(`${server.origin}/api/v1${path}`, {
    method,
    headers: { ...who, "content-type": "application/json" },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await answer.text();
  return { status: answer.status, body: text === "" ? undefined : JSON.parse(text) };
}

const VERSION = { type: "string", default: "4.2.0", maxLength: 10 };
const COPIES = { type: "integer", minimum: 1, maximum: 9 };
const WITH_DEFAULTS = { properties: { version: VERSION, draft: { type: "boolean", default: true } }, required: ["version"] };
const WITHOUT = { properties: { version: VERSION, copies: COPIES }, required: ["copies"] };

interface Form {
  readonly approval: Told["body"];
  answer(body: unknown, who?: Headers): Promise<Told>;
  /** What the asking server got, after the turn. */
  result(): Promise<unknown>;
}

/** A turn of Alice whose MCP server asks for a form to be filled in. */
async function asking(form: unknown): Promise<Form> {
  const prompt = `!call mcp__official__fill ${JSON.stringify(form)}\n!say done`;
  const { body } = await api("POST", "/threads", { body: { prompt, cwd: stage.workspace, approvalPolicy: "on-request" } });
  const thread = `/threads/${body.thread.id}`;
  const approval = await openQuestion(body.thread.id);
  return {
    approval,
    answer: (given, who = ALICE) => api("POST", `/approvals/${approval.id}/answer`, { body: given, who }),
    async result() {
      expect((await api("GET", `${thread}/turns/${body.turn.id}?wait=60`)).body.status).toBe("completed");
      const { items } = (await api("GET", `${thread}/items`)).body;
      const { result } = items.find(({ type }: { type: string }) => type === "toolCall");
      return JSON.parse(result);
    },
  };
}

/** The question of a thread, as its events tell it. */
async function openQuestion(threadId: string): Promise<Told["body"]> {
  const gone = new AbortController();
  const { body } = await fetch(`${server.origin}/api/v1/threads/${threadId}/events?types=approval.asked`, {
    headers: ALICE,
    signal: gone.signal,
  });
  // The stream is open: a question that was asked before it is in the list.
  const [asked] = (await api("GET", `/approvals?threadId=${threadId}`)).body.approvals;
  let text = "";
  for await (const chunk of asked ? [] : (body ?? new ReadableStream()).pipeThrough(new TextDecoderStream())) {
    text += chunk;
    const [, data] = /^event: approval\.asked\ndata: (.*)$/m.exec(text) ?? [];
    if (data === undefined) continue;
    gone.abort();
    return JSON.parse(data).approval;
  }
  gone.abort();
  return asked;
}

describe("a form over HTTP", () => {
  it("is filled in with content, in the fields' types, and tells how it was settled", async () => {
    const form = await asking(WITHOUT);
    expect(form.approval).toMatchObject({ kind: "form", decisions: ["answer", "deny", "abort"], form: { schema: WITHOUT } });
    const settlement = { decision: "answered", by: "http", who: "alice", at: expect.any(String) };
    expect(await form.answer({ decision: "answer", content: { copies: "3" } })).toEqual({
      status: 200,
      body: { id: form.approval.id, settlement },
    });
    expect(await form.result()).toEqual({ action: "accept", content: { copies: 3 } });
    expect((await api("GET", `/approvals/${form.approval.id}`)).body).toEqual({ id: form.approval.id, settlement });
  });

  it("takes the fields as text, too", async () => {
    const form = await asking(WITHOUT);
    expect((await form.answer({ decision: "answer", text: '{"copies": 4, "version": "5"}' })).status).toBe(200);
    expect(await form.result()).toEqual({ action: "accept", content: { copies: 4, version: "5" } });
  });

  it("stays open after content that does not fit, with an error that names the field", async () => {
    const form = await asking(WITHOUT);
    const wrong = [
      [{ decision: "answer", content: { copies: 10 } }, "`copies` takes a whole number from 1 to 9."],
      [{ decision: "answer", content: { copies: 1, version: "5.0.0-alpha" } }, "`version` takes a text with at most 10 characters."],
      [{ decision: "answer", content: { copies: 1, colour: "red" } }, "`colour` is not a field of this question."],
      [{ decision: "answer", content: {} }, "`copies` is missing: it takes a whole number from 1 to 9."],
      [{ decision: "answer", content: { copies: 1 }, text: "2" }, "The form is filled in twice: give `content` or `text`."],
      [{ decision: "answer" }, "This question asks for input."],
      [{ decision: "answer", text: " " }, "This question asks for input."],
      [{ decision: "approve" }, "Approval alone does not fill in `copies`."],
    ] as const;
    for (const [body, detail] of wrong)
      expect(await form.answer(body)).toMatchObject({
        status: 400,
        body: {
          code: "invalid_arguments",
          detail,
          advice: "Give `decision` answer with `content` or `text`, or `decision` deny or abort.",
        },
      });
    expect((await form.answer({ decision: "answer", content: { copies: 9 } })).status).toBe(200);
    expect(await form.result()).toEqual({ action: "accept", content: { copies: 9 } });
  });

  it("whose fields have defaults is filled in with them by approval", async () => {
    const form = await asking(WITH_DEFAULTS);
    expect(form.approval.decisions).toEqual(["answer", "approve", "deny", "abort"]);
    expect(await form.answer({ decision: "approve-for-session" })).toMatchObject({ status: 400, body: { code: "invalid_arguments" } });
    expect(await form.answer({ decision: "approve" })).toMatchObject({ status: 200, body: { settlement: { decision: "answered" } } });
    expect(await form.result()).toEqual({ action: "accept", content: { version: "4.2.0", draft: true } });
  });

  it("is denied with a reason, once: a second answer learns of the first", async () => {
    const form = await asking(WITH_DEFAULTS);
    const first = await form.answer({ decision: "deny", reason: "not on a Friday" });
    expect(first).toMatchObject({ status: 200, body: { settlement: { decision: "denied", who: "alice" } } });
    expect(await form.answer({ decision: "approve" })).toMatchObject({
      status: 409,
      body: { code: "question_settled", settlement: { decision: "denied", by: "http", who: "alice" } },
    });
    expect(await form.result()).toEqual({ action: "decline" });
  });

  it("is closed with its turn: a later answer finds no question", async () => {
    const form = await asking(WITH_DEFAULTS);
    expect((await api("POST", `/threads/${form.approval.threadId}/interrupt`)).status).toBe(204);
    expect(await form.answer({ decision: "approve" })).toMatchObject({ status: 404, body: { code: "approval_not_found" } });
    expect((await api("GET", `/approvals?threadId=${form.approval.threadId}`)).body).toEqual({ approvals: [] });
  });

  it("is not found by another principal, who does not settle it", async () => {
    const form = await asking(WITH_DEFAULTS);
    for (const body of [{ decision: "approve" }, { decision: "deny" }, { decision: "answer", content: { version: 7 } }])
      expect(await form.answer(body, BOB)).toMatchObject({ status: 404, body: { code: "approval_not_found" } });
    expect((await form.answer({ decision: "answer", content: { version: "1" } })).status).toBe(200);
    expect(await form.result()).toEqual({ action: "accept", content: { version: "1" } });
  });
});

it("a question about a command takes no content and no text", async () => {
  const body = {
    prompt: "!shell touch made.txt\n!say done",
    cwd: stage.workspace,
    sandbox: "workspace-write",
    approvalPolicy: "untrusted",
  };
  const { thread } = (await api("POST", "/threads", { body })).body;
  const { id } = await openQuestion(thread.id);
  const answers = [
    [{ decision: "answer", text: "yes" }, "This question asks for a decision."],
    [{ decision: "approve", text: "but quietly" }, "This question takes no `text`."],
    [{ decision: "approve", content: {} }, "This question takes no `content`."],
  ] as const;
  for (const [given, detail] of answers)
    expect(await api("POST", `/approvals/${id}/answer`, { body: given })).toMatchObject({ status: 400, body: { detail } });
  expect((await api("POST", `/approvals/${id}/answer`, { body: { decision: "deny", text: "not that one" } })).status).toBe(200);
});
