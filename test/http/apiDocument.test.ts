import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { z } from "zod";
import { type HttpServer, startHttpServer } from "../support/http/httpServer.js";
import { ALICE, BOB, type Headers, OPERATOR, threePrincipals } from "../support/http/threePrincipals.js";
import { valueAt } from "../support/scenarios/scenario.js";
import { type Stage, setStage } from "../support/stage.js";

let stage: Stage;
let server: HttpServer;
let client: DocumentClient;

beforeAll(async () => {
  stage = await setStage();
  server = await startHttpServer({ stage, args: await threePrincipals(stage) });
  client = await DocumentClient.open(server.origin);
});
afterAll(async () => {
  await server?.[Symbol.asyncDispose]();
  await stage?.[Symbol.asyncDispose]();
});

interface Operation {
  readonly operationId: string;
  readonly method: string;
  readonly path: string;
  readonly parameters?: readonly { readonly name: string; readonly in: string }[];
  readonly requestBody?: object;
  readonly responses: Readonly<Record<string, { readonly content?: Readonly<Record<string, { readonly schema: object }>> }>>;
}

interface Input {
  readonly path?: Readonly<Record<string, string>>;
  readonly query?: Readonly<Record<string, string>>;
  readonly body?: unknown;
  readonly text?: string;
}

/** A client that knows only the server's document. */
class DocumentClient {
  private constructor(
    readonly origin: string,
    readonly operations: readonly Operation[],
    readonly schemas: object,
  ) {}

  static async open(origin: string): Promise<DocumentClient> {
    const answer = await fetch(`${origin}/api/v1/openapi.json`, { headers: ALICE });
    const { paths, components } = (await answer.json()) as {
      paths: Record<string, Record<string, Operation>>;
      components: { schemas: object };
    };
    const operations = Object.entries(paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, operation]) => ({ ...operation, method: method.toUpperCase(), path })),
    );
    return new DocumentClient(origin, operations, components.schemas);
  }

  get ids(): readonly string[] {
    return this.operations.map(({ operationId }) => operationId);
  }

  find(operationId: string): Operation {
    const found = this.operations.find((operation) => operation.operationId === operationId);
    if (!found) throw new Error(`The document has no ${operationId}`);
    return found;
  }

  /** Fails if the document does not declare the answer. Of an endless answer only the beginning is read. */
  async call(who: Headers, operationId: string, { path = {}, query = {}, body, text }: Input): Promise<{ status: number; body: unknown }> {
    const operation = this.find(operationId);
    const url = new URL(this.origin + operation.path.replaceAll(/\{(\w+)\}/g, (_, name: string) => path[name] ?? `no-${name}`));
    for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value);
    const sent = text ?? (body === undefined ? undefined : JSON.stringify(body));
    const gone = new AbortController();
    const answer = await fetch(url, {
      method: operation.method,
      headers: { ...who, ...(sent === undefined ? {} : { "content-type": "application/json" }) },
      signal: gone.signal,
      ...(sent === undefined ? {} : { body: sent }),
    });
    const { status } = answer;
    const what = `${operationId} ${url.pathname}${url.search} ${sent ?? ""} → ${status}`;
    const described = operation.responses[String(status)];
    expect(described, what).toBeDefined();
    const type = (answer.headers.get("content-type") ?? "").split(";")[0] ?? "";
    if (type === "text/event-stream") gone.abort();
    const told = type === "text/event-stream" ? "" : await answer.text();
    if (!described?.content) {
      expect(told, what).toBe("");
      return { status, body: undefined };
    }
    const schema = described.content[type]?.schema;
    expect(schema, `${what} as ${type}`).toBeDefined();
    if (!type.endsWith("json")) return { status, body: told };
    const value: unknown = JSON.parse(told);
    const whole = JSON.stringify({ ...schema, $defs: this.schemas }).replaceAll("#/components/schemas/", "#/$defs/");
    expect(z.fromJSONSchema(JSON.parse(whole)).safeParse(value).error, what).toBeUndefined();
    return { status, body: value };
  }
}

async function thread(prompt = "!shell echo hi\n!say done", wait = 30): Promise<{ threadId: string; turnId: string }> {
  const { body } = await client.call(ALICE, "createThread", { body: { prompt, cwd: stage.workspace, wait } });
  return { threadId: String(valueAt(body, "thread.id")), turnId: String(valueAt(body, "turn.id")) };
}

async function question(): Promise<{ threadId: string; approvalId: string }> {
  const { body } = await client.call(ALICE, "createThread", {
    body: { prompt: "!shell touch x\n!say done", cwd: stage.workspace, sandbox: "workspace-write", approvalPolicy: "untrusted" },
  });
  const threadId = String(valueAt(body, "thread.id"));
  for (;;) {
    const { body: open } = await client.call(ALICE, "listApprovals", { query: { threadId } });
    const id = valueAt(open, "approvals.0.id");
    if (typeof id === "string") return { threadId, approvalId: id };
  }
}

const onThread = async (more: Omit<Input, "path"> = {}): Promise<Input> => ({ path: await thread(), ...more });
const onRunning = async (more: Omit<Input, "path"> = {}): Promise<Input> => ({ path: await thread("!slow 2000 50", 0), ...more });
const nothing = async (): Promise<Input> => ({});

/** A valid input for every operation, and the caller who may send it. */
const GOOD: Readonly<Record<string, { readonly input: () => Promise<Input>; readonly who?: Headers; readonly status?: number }>> = {
  getHealth: { input: nothing },
  getMe: { input: nothing },
  listModels: { input: nothing },
  getAccount: { input: nothing },
  getConfig: { input: nothing, who: OPERATOR },
  listProjects: { input: nothing },
  getMetrics: { input: nothing },
  getDoctor: { input: nothing, who: OPERATOR },
  listThreads: { input: async () => ({ query: { limit: "2", search: "done", archived: "false" } }) },
  createThread: { input: async () => ({ body: { prompt: "!say x", cwd: stage.workspace, wait: 30 } }), status: 201 },
  getThread: { input: () => onThread() },
  changeThread: { input: () => onThread({ body: { name: "a name" } }) },
  deleteThread: { input: () => onThread(), status: 204 },
  forkThread: { input: () => onThread(), status: 201 },
  listItems: { input: () => onThread({ query: { order: "oldest", limit: "3" } }) },
  getItem: {
    input: async () => {
      const path = await thread();
      const { body } = await client.call(ALICE, "listItems", { path });
      return { path: { ...path, itemId: String(valueAt(body, "items.0.id")) } };
    },
  },
  getDiff: { input: () => onThread({ query: { scope: "thread" } }) },
  getFileLines: {
    input: async () => {
      await writeFile(join(stage.workspace, "lines.txt"), "one\ntwo\n");
      return { path: await thread(), query: { path: "lines.txt", first: "2" } };
    },
  },
  getPlan: { input: () => onThread() },
  promptThread: { input: () => onThread({ body: { prompt: "!say more", wait: 30 } }), status: 201 },
  getTurn: { input: () => onThread({ query: { wait: "1" } }) },
  steerThread: { input: () => onRunning({ body: { text: "faster" } }), status: 204 },
  interruptThread: { input: () => onRunning(), status: 204 },
  compactThread: { input: () => onThread(), status: 201 },
  watchServer: { input: async () => ({ query: { types: "turn.started" } }) },
  watchThread: { input: () => onThread() },
  listApprovals: { input: nothing },
  getApproval: { input: async () => ({ path: await question() }) },
  answerApproval: { input: async () => ({ path: await question(), body: { decision: "deny", reason: "no" } }) },
  login: { input: async () => ({ body: {} }), status: 204 },
  logout: { input: nothing, status: 204 },
  createLoginCode: { input: nothing, who: OPERATOR, status: 201 },
};

it("has good input for every operation of the document", () => {
  expect(Object.keys(GOOD).sort()).toEqual([...client.ids].sort());
});

const HOSTILE = [
  "",
  " ",
  "\u0000",
  "../../etc/passwd",
  "-1",
  "1e999",
  "a".repeat(5_000),
  "{}",
  "\u202e",
  "99999999999999999999",
  "00000000-0000-7000-8000-000000000000",
];
/** Operations that take an empty object. */
const MAY_BE_EMPTY: ReadonlySet<string> = new Set(["login", "createThread"]);
const BODIES = ["", "{", "null", "[]", '"text"', "{}", '{"unknown":1}', '{"prompt":1}', '{"decision":"yes"}', '{"name":null,"text":{}}'];

describe.each(Object.entries(GOOD))("%s", (operationId, { input, who = ALICE, status = 200 }) => {
  it("answers good input as the document says", async () => {
    expect((await client.call(who, operationId, await input())).status).toBe(status);
  });

  it("answers bad input with a problem of the document, never with a failure", async () => {
    const { parameters = [], requestBody } = client.find(operationId);
    for (const { name, in: where } of parameters) {
      if (where === "header") continue;
      for (const value of HOSTILE) {
        // A path with an empty part belongs to another route.
        if (where === "path" && value.trim() === "") continue;
        const given = where === "path" ? { path: { [name]: encodeURIComponent(value) } } : { query: { [name]: value } };
        expect((await client.call(who, operationId, { body: requestBody && { prompt: "x" }, ...given })).status).toBeLessThan(500);
      }
    }
    // An operation without body and parameters has no invalid input.
    if (!requestBody) return;
    const path = { threadId: "00000000-0000-7000-8000-000000000000", approvalId: "none" };
    for (const text of BODIES) {
      const answer = await client.call(who, operationId, { path, text });
      if (text !== "{}" || !MAY_BE_EMPTY.has(operationId)) expect([400, 404, 415, 422]).toContain(answer.status);
    }
  });

  it("shows and changes nothing of another principal", async () => {
    const given = await input();
    if (!given.path) return;
    expect((await client.call(BOB, operationId, given)).status).toBe(404);
  });
});
