import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { z } from "zod";
import { ApiEvent } from "../../src/api/schemas/events.js";
import { type HttpServer, startHttpServer } from "../support/http/httpServer.js";

let server: HttpServer;
let folder: string;

beforeAll(async () => {
  server = await startHttpServer();
  folder = server.running.stage.workspace;
});
afterAll(() => server[Symbol.asyncDispose]());

interface Told {
  readonly status: number;
  readonly type: string;
  readonly headers: Headers;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers of many shapes
  readonly body: any;
}

async function api(path: string, { method = "GET", body, headers = {}, at = server }: ApiCall = {}): Promise<Told> {
  const answer = await fetch(`${at.origin}/api/v1${path}`, {
    method,
    headers: { ...(body === undefined ? {} : { "content-type": "application/json" }), ...headers },
    ...(body === undefined ? {} : { body: typeof body === "string" ? body : JSON.stringify(body) }),
  });
  const text = await answer.text();
  const type = answer.headers.get("content-type") ?? "";
  return { status: answer.status, type, headers: answer.headers, body: text === "" ? undefined : JSON.parse(text) };
}

interface ApiCall {
  readonly method?: string;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  readonly at?: HttpServer;
}

function start(prompt: string, more: object = {}): Promise<Told> {
  return api("/threads", { method: "POST", body: { prompt, cwd: folder, ...more } });
}

/** Reads events until the last one is found, and returns all of them with their ids. */
async function eventsUntil(
  path: string,
  isLast: (event: ApiEvent) => boolean,
  lastEventId?: string,
): Promise<{ id: string; event: ApiEvent }[]> {
  const gone = new AbortController();
  const answer = await fetch(`${server.origin}/api/v1${path}`, {
    signal: gone.signal,
    headers: lastEventId === undefined ? {} : { "last-event-id": lastEventId },
  });
  const seen: { id: string; event: ApiEvent }[] = [];
  let text = "";
  for await (const chunk of (answer.body ?? new ReadableStream()).pipeThrough(new TextDecoderStream())) {
    text += chunk;
    const blocks = text.split("\n\n");
    text = blocks.pop() ?? "";
    for (const block of blocks) {
      const [, id = ""] = /^id: (.*)$/m.exec(block) ?? [];
      const [, data = "null"] = /^data: (.*)$/m.exec(block) ?? [];
      // Every event matches its schema.
      const event = ApiEvent.parse(JSON.parse(data));
      seen.push({ id, event });
      if (!isLast(event)) continue;
      gone.abort();
      return seen;
    }
  }
  return seen;
}

/** The content of an event without its times. */
function gist({ event }: { readonly event: ApiEvent }): string {
  return JSON.stringify(event, (key, value: unknown) => (key === "at" || key === "ms" || key === "turn" ? undefined : value));
}

const isEnd = ({ type }: ApiEvent) => type === "turn.ended";

describe("a thread over HTTP", () => {
  it("runs to its end, and appears in pages, diff, plan and lists", async () => {
    const { status, body } = await start("!shell echo hi\n!patch made.txt some text\n!plan look|mend\n!say **done**", {
      sandbox: "workspace-write",
      wait: 30,
    });
    expect(status).toBe(201);
    expect(body.turn).toMatchObject({ status: "completed", answer: "**done**", commands: { run: 1, failed: 0 } });
    const { id } = body.thread;
    const items = (await api(`/threads/${id}/items`)).body;
    expect(items.items.map(({ type }: { type: string }) => type)).toEqual([
      "userMessage",
      "command",
      "patch",
      "plan",
      "agentMessage",
      "turnSummary",
    ]);
    expect(items.items[1]).toMatchObject({ commandText: "echo hi", exitCode: 0, output: "hi\n", status: "completed" });
    expect((await api(`/threads/${id}/diff`)).body.files).toMatchObject([{ path: "made.txt", kind: "add", added: 1 }]);
    expect((await api(`/threads/${id}/plan`)).body.plan.steps).toHaveLength(2);
    expect((await api(`/threads/${id}`)).body).toMatchObject({ id, state: "idle", sandbox: "workspace-write", turns: [] });
    expect((await api(`/threads/${id}/turns/${body.turn.id}`)).body).toMatchObject({ status: "completed", usage: { total: 60 } });
    expect((await api("/threads?search=made.txt")).body.threads.map((thread: { id: string }) => thread.id)).toEqual([id]);
    expect((await api("/projects")).body.projects).toContainEqual(expect.objectContaining({ cwd: folder, running: 0 }));
  });

  it("shows from its record how each turn ended, and why one failed", async () => {
    const { body } = await start("!say fine", { wait: 30 });
    const path = `/threads/${body.thread.id}`;
    const failed = await api(`${path}/turns`, { method: "POST", body: { prompt: "!fail some_code in words", wait: 30 } });
    expect(failed.body.turn.status).toBe("failed");
    const slow = await api(`${path}/turns`, { method: "POST", body: { prompt: "!slow 400 50" } });
    expect((await api(`${path}/interrupt`, { method: "POST" })).status).toBe(204);
    expect((await api(`${path}/turns/${slow.body.turn.id}`)).body.status).toBe("interrupted");
    const { items } = (await api(`${path}/items`)).body;
    const ends = items.filter(({ type }: { type: string }) => type === "turnSummary");
    expect(ends).toMatchObject([
      { status: "completed", outcome: "completed", message: null },
      { status: "failed", outcome: "failed", message: failed.body.turn.error },
      { status: "failed", outcome: "interrupted", message: null },
    ]);
  });

  it("keeps further input to a turn within that turn, even in the record", async () => {
    const { body } = await start("!slow 100 50\n!say end");
    const path = `/threads/${body.thread.id}`;
    const isWritten = (item: { type: string; status: string }) => item.type === "agentMessage" && item.status === "running";
    while (!(await api(`${path}/items`)).body.items.some(isWritten));
    expect((await api(`${path}/steer`, { method: "POST", body: { text: "and quickly" } })).status).toBe(204);
    expect((await api(`${path}/turns/${body.turn.id}?wait=30`)).body.status).toBe("completed");
    const { items } = (await api(`${path}/items`)).body;
    expect(new Set(items.map((item: { turnId: string }) => item.turnId)).size).toBe(1);
    expect(items.filter(({ type }: { type: string }) => type === "turnSummary")).toMatchObject([{ outcome: "completed" }]);
  });

  it("returns its items by pages from either end, each once", async () => {
    const { body } = await start("!shell true\n!shell true\n!shell true\n!say end", { wait: 30 });
    const { id } = body.thread;
    const all = (await api(`/threads/${id}/items`)).body.items.map((item: { id: string }) => item.id);
    for (const order of ["newest", "oldest"]) {
      const seen: string[][] = [];
      let cursor: string | null = "";
      while (cursor !== null) {
        const page: Told = await api(`/threads/${id}/items?limit=2&order=${order}${cursor && `&cursor=${cursor}`}`);
        seen.push(page.body.items.map((item: { id: string }) => item.id));
        cursor = page.body.nextCursor;
      }
      expect((order === "newest" ? seen.reverse() : seen).flat()).toEqual(all);
    }
  });

  it("is renamed, forked, archived and removed", async () => {
    const { body } = await start("!say one", { wait: 30 });
    const path = `/threads/${body.thread.id}`;
    expect((await api(path, { method: "PATCH", body: { name: "A <b>title</b>" } })).body.name).toBe("A <b>title</b>");
    const fork = await api(`${path}/fork`, { method: "POST" });
    expect(fork).toMatchObject({ status: 201, body: { preview: "!say one" } });
    expect((await api(path, { method: "PATCH", body: { archived: true } })).body.archived).toBe(true);
    expect((await api(`/threads/${fork.body.id}`, { method: "DELETE" })).status).toBe(204);
    expect(await api(`/threads/${fork.body.id}`)).toMatchObject({ status: 404, body: { code: "thread_not_found" } });
  });

  it("takes other settings with a prompt, and keeps them", async () => {
    const { body } = await start("!say one", { sandbox: "workspace-write", wait: 30 });
    const at = `/threads/${body.thread.id}`;
    const settings = { model: "gpt-6.1-luna", effort: "low", sandbox: "read-only", approvalPolicy: "never" };
    const turn = await api(`${at}/turns`, { method: "POST", body: { prompt: "!say two", wait: 30, ...settings } });
    expect(turn.body.turn).toMatchObject({ status: "completed", model: settings.model, sandbox: { policy: "read-only" } });
    await api(`${at}/turns`, { method: "POST", body: { prompt: "!say three", wait: 30 } });
    expect((await api(at)).body).toMatchObject(settings);
    const above = await api(`${at}/turns`, { method: "POST", body: { prompt: "x", sandbox: "danger-full-access" } });
    expect(above).toMatchObject({ status: 403, body: { code: "above_ceiling" } });
  });

  it("takes images with a prompt, and says how many there were", async () => {
    const pixel = "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
    const { body } = await start("!slow 30 20", { images: [pixel, pixel] });
    const at = `/threads/${body.thread.id}`;
    const firstOf = async () => (await api(`${at}/items?order=oldest`)).body.items[0];
    await expect.poll(firstOf).toMatchObject({ type: "userMessage", text: "!slow 30 20", images: 2 });
    await api(`${at}/turns/${body.turn.id}?wait=30`);
    expect(await firstOf()).toMatchObject({ type: "userMessage", turnId: "t1", images: 2 });
    for (const image of ["https://192.0.2.1/a.png", "data:text/html;base64,AAAA", "data:image/svg+xml;base64,AAAA", "/etc/passwd"])
      expect((await api(`${at}/turns`, { method: "POST", body: { prompt: "x", images: [image] } })).status).toBe(400);
    expect((await api("/threads", { method: "POST", body: { images: [pixel] } })).body.code).toBe("invalid_arguments");
  });

  it("is opened without a turn, and goes on with its first", async () => {
    const { status, body } = await api("/threads", { method: "POST", body: { cwd: folder, sandbox: "workspace-write" } });
    expect({ status, turn: body.turn, thread: body.thread }).toMatchObject({
      status: 201,
      turn: null,
      thread: { cwd: folder, state: "idle" },
    });
    const at = `/threads/${body.thread.id}`;
    expect((await api(at)).body).toMatchObject({ cwd: folder, sandbox: "workspace-write", turns: [] });
    expect((await api(`${at}/items`)).body.items).toEqual([]);
    const { eventsAfter } = (await api(`${at}/items`)).body;
    await api(at, { method: "PATCH", body: { name: "Later" } });
    const turn = await api(`${at}/turns`, { method: "POST", body: { prompt: "!say begun", wait: 30 } });
    expect(turn.body).toMatchObject({ turn: { answer: "begun" }, thread: { id: body.thread.id, name: "Later", preview: "!say begun" } });
    const events = await eventsUntil(`${at}/events?after=${eventsAfter}`, ({ type }) => type === "turn.ended");
    expect(events.map(({ event }) => event.type)).toEqual(expect.arrayContaining(["thread.changed", "turn.started", "item.completed"]));
    // Codex lists no thread before its first message either.
    expect((await api("/threads?search=Later")).body.threads).toMatchObject([{ id: body.thread.id }]);
  });

  it("is steered and stopped", async () => {
    const { body } = await start("!slow 400 50");
    const path = `/threads/${body.thread.id}`;
    expect((await api(`${path}/interrupt`, { method: "POST" })).status).toBe(204);
    expect((await api(`${path}/turns/${body.turn.id}`)).body.status).toBe("interrupted");
    expect(await api(`${path}/interrupt`, { method: "POST" })).toMatchObject({ status: 409, body: { code: "nothing_to_stop" } });
    expect(await api(`${path}/steer`, { method: "POST", body: { text: "x" } })).toMatchObject({
      status: 409,
      body: { code: "nothing_to_steer" },
    });
  });
});

describe("events", () => {
  it("continue after the last seen one, each exactly once", async () => {
    const { body } = await start("!shell touch asked\n!say three more words", {
      sandbox: "workspace-write",
      approvalPolicy: "untrusted",
    });
    const { id } = body.thread;
    await expect.poll(async () => (await api(`/threads/${id}`)).body.state).toBe("waiting");
    const { eventsAfter, items } = (await api(`/threads/${id}/items`)).body;
    expect(items.map(({ type, status }: { type: string; status: string }) => `${type} ${status}`)).toEqual([
      "userMessage completed",
      "command running",
    ]);
    const [open] = (await api(`/approvals?threadId=${id}`)).body.approvals;
    expect(open).toMatchObject({
      kind: "command",
      itemId: items[1].id,
      turnId: body.turn.id,
      command: { commandText: "touch asked" },
      cwd: folder,
    });
    const whole = eventsUntil(`/threads/${id}/events?after=${eventsAfter}`, isEnd);
    const answered = await api(`/approvals/${open.id}/answer`, { method: "POST", body: { decision: "deny", reason: "use mktemp" } });
    expect(answered.body.settlement).toMatchObject({ decision: "denied", by: "http", who: "local" });
    const late = await api(`/approvals/${open.id}/answer`, { method: "POST", body: { decision: "approve" } });
    expect(late).toMatchObject({ status: 409, body: { code: "question_settled", settlement: { by: "http", who: "local" } } });
    const seen = await whole;
    const told = seen.filter(({ event }) => event.type !== "hello" && event.type !== "heartbeat");
    expect(told.map(({ event }) => event.type)).toContain("approval.settled");
    expect(told.find(({ event }) => event.type === "item.completed")?.event).toMatchObject({
      item: { status: "declined", output: expect.stringContaining("use mktemp") },
    });
    // The rest is the same after every possible last event.
    for (const at of [0, 2, told.length - 2]) {
      const again = await eventsUntil(`/threads/${id}/events`, isEnd, told[at]?.id);
      const rest = again.filter(({ event }) => event.type !== "hello");
      // Events of the feed and of the turn's log that happen at the same moment may arrive in either order.
      expect(rest.map(gist).sort()).toEqual(
        told
          .slice(at + 1)
          .map(gist)
          .sort(),
      );
    }
  });

  it("of another process cause a reset, and an invalid id is refused", async () => {
    const { body } = await start("!say x", { wait: 30 });
    const path = `/threads/${body.thread.id}/events`;
    for (const id of ["00000000-5", "00000000-5.3.2"])
      expect((await eventsUntil(path, ({ type }) => type === "reset", id)).at(-1)?.event.type).toBe("reset");
    expect(await api(`${path}?after=nonsense`)).toMatchObject({ status: 400, body: { code: "invalid_request" } });
    expect(await api("/events?types=no.such")).toMatchObject({ status: 400 });
  });

  it("of the server cover every thread, and only the requested types", async () => {
    const watching = eventsUntil("/events?types=turn.ended", isEnd);
    await start("!say x", { wait: 30 });
    expect((await watching).map(({ event }) => event.type)).toEqual(["hello", "turn.ended"]);
  });
});

describe("bad and foreign input", () => {
  const UNKNOWN = "01a1dd1a-6d22-73e1-88aa-ccf523ae5caa";
  it.each([
    ["GET", "/threads/nonsense", undefined, 400],
    ["GET", `/threads/${UNKNOWN}`, undefined, 404],
    ["GET", `/threads/${UNKNOWN}/items`, undefined, 404],
    ["GET", `/threads/${UNKNOWN}/events`, undefined, 404],
    ["PATCH", `/threads/${UNKNOWN}`, { name: "x" }, 404],
    ["PATCH", `/threads/${UNKNOWN}`, {}, 400],
    ["DELETE", `/threads/${UNKNOWN}`, undefined, 404],
    ["POST", `/threads/${UNKNOWN}/fork`, undefined, 404],
    ["POST", `/threads/${UNKNOWN}/turns`, { prompt: "x" }, 404],
    ["POST", `/threads/${UNKNOWN}/steer`, { text: "x" }, 404],
    ["POST", `/threads/${UNKNOWN}/interrupt`, undefined, 404],
    ["GET", `/threads/${UNKNOWN}/turns/x`, undefined, 404],
    ["POST", "/threads", { prompt: "" }, 400],
    ["POST", "/threads", { prompt: "x", unknown: 1 }, 400],
    ["POST", "/threads", "{not json", 400],
    ["POST", "/threads", "[1]", 400],
    ["POST", "/threads", { prompt: "x", cwd: "/etc" }, 403],
    ["POST", "/threads", { prompt: "x", sandbox: "danger-full-access" }, 403],
    ["POST", "/threads", { prompt: "x", config: { notify: ["sh"] } }, 403],
    ["GET", "/threads?cursor=nonsense", undefined, 400],
    ["GET", "/threads?limit=0", undefined, 400],
    ["GET", "/threads?limit=1e9", undefined, 400],
    ["GET", "/approvals/none", undefined, 404],
    ["POST", "/approvals/none/answer", { decision: "approve" }, 404],
    ["POST", "/approvals/none/answer", { decision: "maybe" }, 400],
    ["GET", "/nothing", undefined, 404],
    ["POST", "/threads", { prompt: " \n" }, 400],
    ["POST", `/threads/${UNKNOWN}/steer`, { text: " " }, 400],
    ["POST", `/threads/${UNKNOWN}/turns`, { prompt: "x", sandbox: "danger-full-access" }, 404],
    ["PUT", "/threads", { prompt: "x" }, 405],
    ["DELETE", `/threads/${UNKNOWN}/turns`, undefined, 405],
    ["GET", "/threads/%00", undefined, 400],
    ["GET", "/threads/%ff%fe", undefined, 400],
    ["POST", "/login", { code: "wrong" }, 403],
  ] as const)("%s %s is answered with a problem, never with an internal error", async (method, path, body, status) => {
    const told = await api(path, { method, ...(body === undefined ? {} : { body }) });
    expect({ status: told.status, type: told.type, named: typeof told.body.code }).toEqual({
      status,
      type: "application/problem+json",
      named: "string",
    });
  });

  it("a wrong method gets a response that names the right ones", async () => {
    const told = await api("/threads", { method: "DELETE" });
    expect([told.headers.get("allow"), told.body.code]).toEqual(["GET, POST", "method_not_allowed"]);
  });

  it("pages of other origins change nothing", async () => {
    const foreign = await api("/threads", { method: "POST", body: { prompt: "x" }, headers: { origin: "http://localhost:1" } });
    expect(foreign).toMatchObject({ status: 403, body: { code: "foreign_origin" } });
  });

  it("forms are not read as JSON", async () => {
    const answer = await fetch(`${server.origin}/api/v1/threads`, {
      method: "POST",
      body: "prompt=x",
      headers: { "content-type": "text/plain" },
    });
    expect(answer.status).toBe(415);
  });
});

it("a browser with only a cookie can read the metrics, one without it cannot", async () => {
  const forwarded = { "x-forwarded-for": "192.0.2.1" };
  const { address } = (await api("/login/codes", { method: "POST" })).body;
  const code = new URL(address).hash.replace("#code=", "");
  const login = await api("/login", { method: "POST", body: { code }, headers: forwarded });
  expect(login.status).toBe(204);
  const cookie = login.headers.get("set-cookie")?.split(";")[0] ?? "";
  const read = (headers: Record<string, string>) => fetch(`${server.origin}/api/v1/metrics`, { headers: { ...forwarded, ...headers } });
  expect((await read({})).status).toBe(401);
  const answer = await read({ cookie });
  expect([answer.status, answer.headers.get("content-type")]).toEqual([200, expect.stringMatching(/^text\/plain/)]);
  expect(await answer.text()).toContain("codex_mcp_turns_running");
});

describe("the document", () => {
  it("describes what the server answers", async () => {
    const { body: document } = await api("/openapi.json");
    expect(document.openapi).toBe("3.1.0");
    const operations = Object.entries<
      Record<string, { operationId: string; responses: Record<string, { content?: Record<string, { schema: object }> }> }>
    >(document.paths);
    const names = operations.flatMap(([, methods]) => Object.values(methods).map(({ operationId }) => operationId));
    expect(new Set(names).size).toBe(names.length);
    const { body } = await start("!shell echo hi\n!say x", { wait: 30 });
    let checked = 0;
    for (const [path, methods] of operations) {
      const get = methods["get"];
      const schema = get?.responses["200"]?.content?.["application/json"]?.schema;
      // apiDocument.test.ts plays the routes that need more parameters than the thread.
      if (!schema || path.includes("{approvalId}") || path.includes("{itemId}") || path.endsWith("/file")) continue;
      const real = path.replace("{threadId}", body.thread.id).replace("{turnId}", body.turn.id).replace("/api/v1", "");
      const told = await api(real);
      expect({ path, status: told.status }).toEqual({ path, status: 200 });
      // Validates against the schema in the document, read by another implementation than the one that wrote it.
      const moved = JSON.stringify({ ...schema, $defs: document.components.schemas }).replaceAll("#/components/schemas/", "#/$defs/");
      expect(z.fromJSONSchema(JSON.parse(moved)).safeParse(told.body).error, path).toBeUndefined();
      checked++;
    }
    expect(checked).toBeGreaterThan(8);
  });
});
