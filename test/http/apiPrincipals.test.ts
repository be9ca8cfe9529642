import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { handshake, toolCall } from "../support/http/httpClient.js";
import { type HttpServer, startHttpServer } from "../support/http/httpServer.js";
import { ALICE, BOB, type Headers, OPERATOR, threePrincipals } from "../support/http/threePrincipals.js";
import { valueAt } from "../support/scenarios/scenario.js";
import { type Stage, setStage } from "../support/stage.js";

let stage: Stage;
let server: HttpServer;
beforeAll(async () => {
  stage = await setStage();
  server = await startHttpServer({ stage, args: await threePrincipals(stage) });
});
afterAll(async () => {
  await server?.[Symbol.asyncDispose]();
  await stage?.[Symbol.asyncDispose]();
});

interface Told {
  readonly status: number;
  readonly body: unknown;
}

async function api(who: Headers, method: string, path: string, body?: unknown): Promise<Told> {
  const answer = await fetch(`${server.origin}/api/v1${path}`, {
    method,
    headers: { ...who, ...(body === undefined ? {} : { "content-type": "application/json" }) },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await answer.text();
  return { status: answer.status, body: text === "" ? undefined : JSON.parse(text) };
}

/** A turn of Alice that waits for an approval. */
async function asking(): Promise<{ readonly threadId: string; readonly approvalId: string }> {
  const { body } = await api(ALICE, "POST", "/threads", {
    prompt: "!shell touch made.txt\n!say done",
    cwd: stage.workspace,
    sandbox: "workspace-write",
    approvalPolicy: "untrusted",
  });
  const threadId = String(valueAt(body, "thread.id"));
  for (;;) {
    const { body: waiting } = await api(ALICE, "GET", `/approvals?threadId=${threadId}`);
    const id = valueAt(waiting, "approvals.0.id");
    if (typeof id === "string") return { threadId, approvalId: id };
  }
}

/** Every request about a thread and its approval. */
function attempts({ threadId, approvalId }: { readonly threadId: string; readonly approvalId: string }) {
  const thread = `/threads/${threadId}`;
  return [
    ["GET", thread],
    ["GET", `${thread}/items`],
    ["GET", `${thread}/events`],
    ["GET", `${thread}/diff`],
    ["GET", `${thread}/plan`],
    ["GET", `${thread}/file?path=made.txt`],
    ["PATCH", thread, { name: "taken" }],
    ["PATCH", thread, { archived: true }],
    ["POST", `${thread}/turns`, { prompt: "!say mine now" }],
    ["POST", `${thread}/steer`, { text: "for me" }],
    ["POST", `${thread}/interrupt`],
    ["POST", `${thread}/fork`],
    ["POST", `${thread}/compact`],
    ["DELETE", thread],
    ["GET", `/approvals/${approvalId}`],
    ["POST", `/approvals/${approvalId}/answer`, { decision: "approve" }],
  ] as const;
}

describe("another principal", () => {
  it("cannot see or change a thread and its question", async () => {
    const alices = await asking();
    const statuses = [];
    for (const [method, path, body] of attempts(alices)) statuses.push([method, path, (await api(BOB, method, path, body)).status]);
    expect(statuses).toEqual(attempts(alices).map(([method, path]) => [method, path, 404]));
    expect((await api(BOB, "GET", "/threads")).body).toMatchObject({ threads: [] });
    expect((await api(BOB, "GET", "/approvals")).body).toMatchObject({ approvals: [] });
    expect((await api(ALICE, "GET", `/threads/${alices.threadId}`)).body).toMatchObject({ id: alices.threadId, state: "waiting" });
    expect((await api(ALICE, "POST", `/approvals/${alices.approvalId}/answer`, { decision: "deny", reason: "no" })).status).toBe(200);
  });

  it("does not see them in the server's events", async () => {
    const gone = new AbortController();
    const answer = await fetch(`${server.origin}/api/v1/events`, { headers: BOB, signal: gone.signal });
    const { threadId, approvalId } = await asking();
    await api(ALICE, "POST", `/approvals/${approvalId}/answer`, { decision: "deny" });
    await api(BOB, "POST", "/threads", { prompt: "!say bob", cwd: stage.workspace, wait: 30 });
    let text = "";
    for await (const chunk of (answer.body ?? new ReadableStream()).pipeThrough(new TextDecoderStream())) {
      text += chunk;
      if (text.includes("turn.ended")) break;
    }
    gone.abort();
    expect(text).not.toContain(threadId);
    expect(text).not.toContain(approvalId);
  });
});

it("an operator sees the threads and questions of all principals", async () => {
  const { threadId, approvalId } = await asking();
  expect((await api(OPERATOR, "GET", `/threads/${threadId}`)).body).toMatchObject({ id: threadId });
  const { body } = await api(OPERATOR, "GET", "/approvals");
  expect(JSON.stringify(body)).toContain(approvalId);
  await api(ALICE, "POST", `/approvals/${approvalId}/answer`, { decision: "deny" });
});

it("a question of an MCP call is answered over the API, and the client's form is withdrawn", async () => {
  const { session = "" } = await server.ask({ headers: ALICE, message: handshake(0, { capabilities: { elicitation: {} } }) });
  const headers = { ...ALICE, "mcp-session-id": session };
  using stream = await server.stream({ headers });
  const args = { prompt: "!shell touch by-two.txt\n!say done", "approval-policy": "untrusted", sandbox: "workspace-write" };
  const pending = server.ask({ headers, message: toolCall("call", args) });
  const question = await stream.question();
  const { body } = await api(ALICE, "GET", `/approvals?threadId=${String(valueAt(question, "params.threadId"))}`);
  const approvalId = String(valueAt(body, "approvals.0.id"));
  expect((await api(ALICE, "POST", `/approvals/${approvalId}/answer`, { decision: "deny", reason: "not now" })).status).toBe(200);
  const result = valueAt((await pending).body, "result");
  expect(result).toMatchObject({ structuredContent: { content: "done", approvals: { asked: 1, denied: 1 } } });
  expect(JSON.stringify(result)).toContain("not now");
  // The answer to the elicitation comes first, so this one is too late.
  await server.ask({ headers, message: { jsonrpc: "2.0", id: question["id"], result: { decision: "approved" } } });
  const late = await api(ALICE, "POST", `/approvals/${approvalId}/answer`, { decision: "approve" });
  expect(late).toMatchObject({ status: 409 });
});

describe("a code for the console", () => {
  it("is given to operators, but not to other principals with the scope `manage`", async () => {
    await using place = await setStage();
    const file = join(place.root, "tokens");
    const tokens = { carol: "carol-token-0123456789", root: "root-token-0123456789a" };
    await writeFile(file, `carol ${tokens.carol} manage\nroot ${tokens.root} operator\n`, { mode: 0o600 });
    await using other = await startHttpServer({ stage: place, args: ["--token-file", file] });
    const ask = async (token: string) => {
      const headers = { authorization: `Bearer ${token}` };
      const answer = await fetch(`${other.origin}/api/v1/login/codes`, { method: "POST", headers });
      return [answer.status, valueAt(await answer.json(), "code")];
    };
    expect(await ask(tokens.carol)).toEqual([403, "login_refused"]);
    expect(await ask(tokens.root)).toEqual([201, undefined]);
  });
});

it("turns over the API are counted like all others", async () => {
  const { body } = await api(ALICE, "POST", "/threads", { prompt: "!say counted", cwd: stage.workspace, wait: 30 });
  expect(body).toMatchObject({ turn: { status: "completed" } });
  const metrics = await (await fetch(`${server.origin}/metrics`, { headers: OPERATOR })).text();
  expect(metrics).toMatch(/codex_mcp_turns_ended_total\{outcome="completed"\} [1-9]/);
});
