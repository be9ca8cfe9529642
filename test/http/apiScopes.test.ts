import { writeFile } from "node:fs/promises";
import path from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { type HttpServer, startHttpServer } from "../support/http/httpServer.js";
import { isRecord, valueAt } from "../support/scenarios/scenario.js";
import { type Stage, setStage } from "../support/stage.js";

/** The required scope of each operation. `none`: any authenticated caller. */
const SCOPES = {
  none: ["getHealth", "getMe", "login", "logout"],
  read: [
    "listThreads",
    "getThread",
    "listItems",
    "getItem",
    "getDiff",
    "getFileLines",
    "getPlan",
    "getTurn",
    "watchServer",
    "watchThread",
    "listApprovals",
    "getApproval",
    "listProjects",
    "getMetrics",
  ],
  call: [
    "createThread",
    "changeThread",
    "deleteThread",
    "forkThread",
    "promptThread",
    "steerThread",
    "interruptThread",
    "compactThread",
    "answerApproval",
    "listModels",
    "getAccount",
  ],
  manage: ["getConfig", "getDoctor", "createLoginCode"],
} as const;
const WORDS = ["read", "call", "manage"] as const;

/** Valid bodies: only the scope is missing. */
const BODIES: Readonly<Record<string, unknown>> = {
  createThread: { prompt: "!say x" },
  changeThread: { name: "taken" },
  promptThread: { prompt: "!say x" },
  steerThread: { text: "x" },
  answerApproval: { decision: "approve" },
};

let stage: Stage;
let server: HttpServer;
let threadId: string;

beforeAll(async () => {
  stage = await setStage();
  const file = path.join(stage.root, "tokens");
  // Tokens of one principal, each with other scopes.
  const lines = [...WORDS.map((word) => WORDS.filter((other) => other !== word)), WORDS].map(
    (words) => `ann ${tokenWith(words)} ${words.join(" ")}\n`,
  );
  await writeFile(file, lines.join(""), { mode: 0o600 });
  server = await startHttpServer({ stage, args: ["--token-file", file] });
  const { body } = await send(WORDS, "POST", "/api/v1/threads", { prompt: "!shell touch x\n!say kept", approvalPolicy: "untrusted" });
  threadId = String(valueAt(body, "thread.id"));
});
afterAll(async () => {
  await server?.[Symbol.asyncDispose]();
  await stage?.[Symbol.asyncDispose]();
});

function tokenWith(words: readonly string[]): string {
  return `${words.join("-")}-0123456789abcdef`;
}

async function send(words: readonly string[], method: string, route: string, body?: unknown): Promise<{ status: number; body: unknown }> {
  const gone = new AbortController();
  const answer = await fetch(server.origin + route, {
    method,
    signal: gone.signal,
    headers: { authorization: `Bearer ${tokenWith(words)}`, ...(body === undefined ? {} : { "content-type": "application/json" }) },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const isJson = answer.headers.get("content-type")?.includes("json") === true;
  const told: unknown = isJson ? await answer.json() : undefined;
  gone.abort();
  return { status: answer.status, body: told };
}

interface Operation {
  readonly id: string;
  readonly method: string;
  readonly route: string;
  readonly scope: string;
}

async function operations(): Promise<readonly Operation[]> {
  const { body } = await send(WORDS, "GET", "/api/v1/openapi.json");
  const paths = valueAt(body, "paths");
  return Object.entries(isRecord(paths) ? paths : {}).flatMap(([route, methods]) =>
    Object.entries(isRecord(methods) ? methods : {}).map(([method, operation]) => ({
      id: String(valueAt(operation, "operationId")),
      method: method.toUpperCase(),
      route,
      scope: String(valueAt(operation, "x-scope")),
    })),
  );
}

it("the document names the scope of every operation", async () => {
  const named = (await operations()).map(({ id, scope }) => `${id}: ${scope}`);
  const wanted = Object.entries(SCOPES).flatMap(([scope, ids]) => ids.map((id) => `${id}: ${scope}`));
  expect(named.sort()).toEqual(wanted.sort());
});

it("requests without the scope are refused with scope_missing and have no effect, even on own threads", async () => {
  const refused = [];
  const restricted = (await operations()).filter(({ scope }) => scope !== "none");
  for (const { id, method, route, scope } of restricted) {
    const real = route.replace("{threadId}", threadId).replaceAll(/\{\w+\}/g, "none");
    const query = id === "getFileLines" ? "?path=x" : "";
    const others = WORDS.filter((word) => word !== scope);
    const { status, body } = await send(others, method, real + query, BODIES[id]);
    refused.push([id, status, valueAt(body, "code")]);
  }
  expect(refused).toEqual(restricted.map(({ id }) => [id, 403, "scope_missing"]));
  const { body } = await send(WORDS, "GET", `/api/v1/threads/${threadId}`);
  expect(body).toMatchObject({ name: null, archived: false, state: "waiting" });
  expect((await send(WORDS, "GET", "/api/v1/threads")).body).toMatchObject({ threads: [{ id: threadId }] });
});
