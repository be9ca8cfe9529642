// A client that a widely used generator makes of the served document, as programmers of the API would make it.
import { mkdtemp, writeFile } from "node:fs/promises";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { z } from "zod";
import type { ApiEvent } from "../../src/api/schemas/events.js";
import type { ItemPage } from "../../src/api/schemas/items.js";
import type { ApprovalList, ThreadResource, TurnStart } from "../../src/api/schemas/threads.js";
import { installOnNewerNode } from "../conformance/suite.js";
import { ConsoleFront } from "../support/console/consoleFront.js";
import { type HttpServer, startHttpServer } from "../support/http/httpServer.js";
import { runToEnd } from "../support/processes/runToEnd.js";
import { type Stage, setStage } from "../support/stage.js";

const GENERATOR = "@hey-api/openapi-ts";
const COMPILER = path.resolve("node_modules/.bin/tsc");
const STRICT = [
  "--ignoreConfig",
  "--noEmit",
  "--strict",
  "--skipLibCheck",
  "--target",
  "es2022",
  "--module",
  "esnext",
  "--moduleResolution",
  "bundler",
];

const generator = await findGenerator();

async function findGenerator(): Promise<readonly [string, string] | undefined> {
  try {
    // It uses the compiler's older interface, which the project's version no longer has.
    const { node, modules } = await installOnNewerNode("api-client", `${GENERATOR}@0.99.0`, "typescript@6.0.3");
    return [node, path.join(modules, GENERATOR, "bin", "run.js")];
  } catch (error) {
    console.warn(`SKIPPED: the generator of API clients cannot be installed. ${error instanceof Error ? error.message : String(error)}`);
    return undefined;
  }
}

/** What this test uses of the generated functions. The schemas that the server checks its answers against give the types. */
interface GeneratedClient {
  createThread(input: Input): Answer<z.infer<typeof TurnStart>>;
  promptThread(input: Input): Answer<z.infer<typeof TurnStart>>;
  getThread(input: Input): Answer<ThreadResource>;
  listItems(input: Input): Answer<ItemPage>;
  listApprovals(input: Input): Answer<z.infer<typeof ApprovalList>>;
  answerApproval(input: Input): Answer<unknown>;
  watchThread(input: Input & { readonly sseDefaultRetryDelay: number; readonly signal: AbortSignal }): Promise<{
    readonly stream: AsyncIterable<ApiEvent>;
  }>;
}

interface Input {
  readonly baseUrl: string;
  readonly path?: Readonly<Record<string, string>>;
  readonly query?: Readonly<Record<string, string | number>>;
  readonly body?: object;
}

type Answer<Value> = Promise<{ readonly data?: Value; readonly error?: { readonly code: string }; readonly response: { status: number } }>;

describe.runIf(generator)("a client that is generated from the served document", () => {
  let stage: Stage;
  let server: HttpServer;
  let front: ConsoleFront;
  let folder: string;
  let client: GeneratedClient;
  let baseUrl: string;

  beforeAll(async () => {
    stage = await setStage();
    server = await startHttpServer({ stage });
    // The address stays the same when the server is started again.
    front = await ConsoleFront.open(server.origin);
    baseUrl = front.address.replace("/console/", "");
    folder = await mkdtemp(path.join(stage.root, "client-"));
    const document = path.join(folder, "openapi.json");
    await writeFile(document, await (await fetch(`${baseUrl}/api/v1/openapi.json`)).text());
    const [node = "", program = ""] = generator ?? [];
    const made = await runToEnd([node, program, "-i", document, "-o", path.join(folder, "client")], { cwd: folder, timeoutMs: 60_000 });
    expect(made.code, made.stdout + made.stderr).toBe(0);
    client = (await import(pathToFileURL(path.join(folder, "client", "sdk.gen.ts")).href)) as GeneratedClient;
  });
  afterAll(async () => {
    await front?.[Symbol.asyncDispose]();
    await server?.[Symbol.asyncDispose]();
    await stage?.[Symbol.asyncDispose]();
  });

  it("has types for everything that the server's schemas allow", async () => {
    const schemas = path.resolve("src/api/schemas");
    const uses = [
      `import type { Approval, Event, Item, Thread } from "./client/types.gen";`,
      `import type { TimelineItem } from "${schemas}/items.js";`,
      `import type { ApiEvent } from "${schemas}/events.js";`,
      `import type { Approval as OwnApproval, ThreadResource } from "${schemas}/threads.js";`,
      "export const items = (own: TimelineItem): Item => own;",
      "export const events = (own: ApiEvent): Event => own;",
      "export const approvals = (own: OwnApproval): Approval => own;",
      "export const threads = (own: ThreadResource): Thread => own;",
    ];
    const file = path.join(folder, "uses.ts");
    await writeFile(file, uses.join("\n"));
    const { code, stdout } = await runToEnd([COMPILER, ...STRICT, file], { timeoutMs: 60_000 });
    expect([code, stdout]).toEqual([0, ""]);
  });

  it("starts a thread, answers its question, receives its events across a restart of the server, and reads its items by pages", async () => {
    const settings = { cwd: stage.workspace, sandbox: "workspace-write", approvalPolicy: "untrusted" };
    const started = await client.createThread({ baseUrl, body: { prompt: "!say begun", wait: 30, ...settings } });
    expect(started.response.status).toBe(201);
    const threadPath = { threadId: started.data?.thread.id ?? "" };
    const prompt = (text: string) => client.promptThread({ baseUrl, path: threadPath, body: { prompt: text } });
    const gone = new AbortController();
    const { stream } = await client.watchThread({ baseUrl, path: threadPath, signal: gone.signal, sseDefaultRetryDelay: 100 });
    const heard: ApiEvent["type"][] = [];
    for await (const event of stream) {
      heard.push(event.type);
      const isNew = !heard.includes("reset");
      if (event.type === "hello" && heard.length === 1) await prompt("!shell touch made.txt\n!say done");
      if (event.type === "approval.asked") {
        const question = { baseUrl, path: { approvalId: event.approval?.id ?? "" } };
        expect((await client.answerApproval({ ...question, body: { decision: "approve" } })).response.status).toBe(200);
        expect((await client.answerApproval({ ...question, body: { decision: "deny" } })).error?.code).toBe("question_settled");
      }
      if (event.type === "turn.ended" && isNew) await restart();
      if (event.type === "reset") await prompt("!say after the restart");
      if (event.type === "turn.ended" && !isNew) break;
    }
    gone.abort();
    expect(heard).toContain("approval.settled");
    // The stream was opened again with the id of the last event: the new process says that it does not know it.
    expect(heard.filter((type) => type === "hello")).toHaveLength(2);
    expect(heard.filter((type) => type === "turn.ended")).toHaveLength(2);
    expect((await client.listApprovals({ baseUrl })).data?.approvals).toEqual([]);

    const types: string[] = [];
    let cursor: string | null = "";
    while (cursor !== null) {
      const query = { limit: 2, order: "oldest", ...(cursor && { cursor }) };
      const { data }: Awaited<Answer<ItemPage>> = await client.listItems({ baseUrl, path: threadPath, query });
      types.push(...(data?.items ?? []).map(({ type }) => type));
      cursor = data?.nextCursor ?? null;
    }
    const plainTurn = ["userMessage", "agentMessage", "turnSummary"];
    expect(types).toEqual([...plainTurn, "userMessage", "command", "agentMessage", "turnSummary", ...plainTurn]);
    expect((await client.getThread({ baseUrl, path: { threadId: "nonsense" } })).error?.code).toBe("invalid_request");
  });

  async function restart(): Promise<void> {
    server.running.process.kill("SIGKILL");
    await server.running[Symbol.asyncDispose]();
    server = await startHttpServer({ stage });
    front.target = server.origin;
  }
});
