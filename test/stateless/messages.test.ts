// Every message that the server sends, in each revision, as a file. A new revision gets a folder of its own.
import { isSpecType } from "@modelcontextprotocol/server";
import { describe, expect, it } from "vitest";
import { isFields } from "../../src/lib/fields.js";
import { claimMeta, FORMS, StatelessClient, TASKS } from "../support/clients/statelessClient.js";
import { MemorySession } from "../support/memory/memorySession.js";
import { valueAt } from "../support/scenarios/scenario.js";

type Json = Readonly<Record<string, unknown>>;

const ASKING = { prompt: "!shell touch made.txt", "approval-policy": "untrusted", sandbox: "workspace-write" };
const APPROVED = { action: "accept", content: { decision: "approved" } };
const LATER = { capabilities: { ...FORMS, ...TASKS } };

/** A connection that records all its messages. */
class Conversation implements AsyncDisposable {
  readonly #client = new StatelessClient();
  readonly session = new MemorySession({ agent: this.#client.agent, parts: { stateless: async () => this.#client.server } });

  ask(method: string, params: Json = {}, { capabilities, meta = {} }: { capabilities?: Json; meta?: Json } = {}): Promise<Json> {
    return this.session.request(method, { ...params, _meta: { ...claimMeta(capabilities), ...meta } });
  }

  call(args: Json, { rest, ...options }: { rest?: Json; capabilities?: Json; meta?: Json } = {}): Promise<Json> {
    return this.ask("tools/call", { name: "codex", arguments: args, ...rest }, options);
  }

  /** The last notification of this method. */
  notified(method: string): Promise<Json> {
    return this.session.until(() => this.session.received.findLast((message) => message["method"] === method));
  }

  /** The parts that are the same in every run. */
  stable({ id, ...message }: Json): string {
    const numbered = typeof id === "number" ? { ...message, id: 1 } : { ...message, id };
    const text = JSON.stringify(numbered, (key, value: unknown) => (key in UNSTABLE ? UNSTABLE[key] : inOrder(value)), 2);
    return `${text
      .replaceAll(this.#client.agent.folder, "<folder>")
      .replaceAll(/[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, "<uuid>")
      .replaceAll(/ after [\d.]+ s\\n/g, " after <time> s\\n")
      .replaceAll(/tokens: \d+ in this turn, \d+ on the thread/g, "tokens: <usage>")
      .replaceAll(/sandbox: read-only \(\w+\)/g, "sandbox: read-only (<sandbox>)")
      .replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, "<time>")
      .replaceAll(/[0-9a-z]{8}-[0-9a-f]{32}/g, "<task>")
      .replaceAll(/v1\.[\w-]+\.[\w-]+\.[\w-]+/g, "<state>")}\n`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.session[Symbol.asyncDispose]();
    await this.#client[Symbol.asyncDispose]();
  }
}

/** Values that differ between machines, builds and runs. */
const UNSTABLE: Readonly<Record<string, string>> = {
  version: "<version>",
  user_agent: "<user agent>",
  deadline: "<deadline>",
  enforcedBy: "<sandbox>",
  staysInSandbox: "<sandboxed>",
  usage: "<usage>",
  ms: "<ms>",
  description: "<description>",
};

function inOrder(value: unknown): unknown {
  return isFields(value) ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))) : value;
}

/** How each message is produced. */
const SAID: Readonly<Record<string, Readonly<Record<string, (talk: Conversation) => Promise<Json>>>>> = {
  "2026-07-28": {
    discover: (talk) => talk.ask("server/discover"),
    "tools-list": (talk) => talk.ask("tools/list"),
    "tools-call-complete": (talk) => talk.call({ prompt: "!say hello" }),
    "tools-call-refused": (talk) => talk.call({}),
    "tools-call-input-required": (talk) => talk.call(ASKING),
    "tools-call-task": async (talk) => {
      const { result, ...answer } = await talk.call({ prompt: "!hang" }, LATER);
      // The status at this moment depends on the machine.
      return { ...answer, result: { ...(result as object), statusMessage: "Thinking" } };
    },
    "tasks-get-input-required": async (talk) => talk.ask("tasks/get", await task(talk), LATER),
    "tasks-get-completed": async (talk) => {
      const named = await task(talk);
      await talk.ask("tasks/update", { ...named, inputResponses: { "approval-1": APPROVED } }, LATER);
      return settled(talk, named);
    },
    "tasks-get-cancelled": async (talk) => {
      const named = await task(talk);
      await talk.ask("tasks/cancel", named, LATER);
      return settled(talk, named);
    },
    "tasks-update": async (talk) => talk.ask("tasks/update", { ...(await task(talk)), inputResponses: {} }, LATER),
    "tasks-cancel": async (talk) => talk.ask("tasks/cancel", await task(talk), LATER),
    "subscriptions-acknowledged": async (talk) => {
      listen(talk, { toolsListChanged: true, promptsListChanged: true });
      return talk.notified("notifications/subscriptions/acknowledged");
    },
    "subscriptions-tasks": async (talk) => {
      listen(talk, { taskIds: [(await task(talk)).taskId] });
      return talk.notified("notifications/tasks");
    },
    "subscriptions-end": async (talk) => {
      listen(talk, {});
      await talk.notified("notifications/subscriptions/acknowledged");
      talk.session.session.interrupt(new Error("the server ends"));
      return talk.session.answerTo("sub");
    },
    "notifications-progress": async (talk) => {
      await talk.call({ prompt: "!say hi" }, { meta: { progressToken: "p" } });
      return talk.notified("notifications/progress");
    },
    "notifications-message": async (talk) => {
      await talk.call({ prompt: "!say hi" }, { meta: { "io.modelcontextprotocol/logLevel": "info" } });
      return talk.notified("notifications/message");
    },
    "error-unknown-method": (talk) => talk.ask("ping"),
    "error-unknown-tool": (talk) => talk.ask("tools/call", { name: "grep" }),
    "error-unknown-version": (talk) => talk.ask("tools/list", {}, { meta: { "io.modelcontextprotocol/protocolVersion": "2031-01-01" } }),
    "error-missing-capabilities": (talk) =>
      talk.ask("tools/list", {}, { meta: { "io.modelcontextprotocol/clientCapabilities": undefined } }),
    "error-missing-extension": (talk) => talk.ask("tasks/get", { taskId: "x" }),
    "error-unknown-task": (talk) => talk.ask("tasks/get", { taskId: "x" }, LATER),
    "error-request-state": (talk) => talk.call(ASKING, { rest: { requestState: "x" } }),
  },
  "2025-11-25": {
    initialize: (talk) => talk.session.initialize("2025-11-25"),
    "initialize-asking-for-2026-07-28": (talk) => talk.session.initialize("2026-07-28"),
    ping: (talk) => talk.session.request("ping"),
    "tools-list": (talk) => talk.session.request("tools/list"),
    "tools-call": (talk) => talk.session.request("tools/call", { name: "codex", arguments: { prompt: "!say hello" } }),
    "tools-call-with-task-parameter": (talk) =>
      talk.session.request("tools/call", { name: "codex", arguments: { prompt: "!say hello" }, task: { ttl: 60_000 } }),
    "tools-call-unknown": (talk) => talk.session.request("tools/call", { name: "grep", arguments: {} }),
    "elicitation-create": async (talk) => {
      const params = { protocolVersion: "2025-11-25", capabilities: { elicitation: {} }, clientInfo: { name: "t", version: "1" } };
      await talk.session.request("initialize", params);
      talk.session.send({ jsonrpc: "2.0", id: 7, method: "tools/call", params: { name: "codex", arguments: ASKING } });
      return talk.notified("elicitation/create");
    },
    "error-unknown-method": (talk) => talk.session.request("server/discover"),
  },
};

/** The id of a task that waits for its client's input. */
async function task(talk: Conversation): Promise<{ readonly taskId: unknown }> {
  const named = { taskId: valueAt(await talk.call(ASKING, LATER), "result.taskId") };
  for (;;) {
    const { result } = await talk.ask("tasks/get", named, LATER);
    if (valueAt(result, "status") === "input_required") return named;
  }
}

/** The form of a task that has ended. */
async function settled(talk: Conversation, named: Json): Promise<Json> {
  listen(talk, { taskIds: [named["taskId"]] });
  await talk.session.until(() =>
    talk.session.notified("notifications/tasks").find((told) => !["working", "input_required"].includes(String(valueAt(told, "status")))),
  );
  return talk.ask("tasks/get", named, LATER);
}

function listen(talk: Conversation, notifications: Json): void {
  talk.session.send({
    jsonrpc: "2.0",
    id: "sub",
    method: "subscriptions/listen",
    params: { notifications, _meta: claimMeta(LATER.capabilities) },
  });
}

/** The schemas of the specification, where the official package has one for the whole message. */
const SCHEMAS: Readonly<Record<string, (message: Json) => boolean>> = {
  discover: ({ result }) => isSpecType.DiscoverResult(result),
  "tools-list": ({ result }) => isSpecType.ListToolsResult(result),
  "tools-call": ({ result }) => isSpecType.CallToolResult(result),
  "tools-call-complete": ({ result }) => isSpecType.CallToolResult(result),
  "tools-call-refused": ({ result }) => isSpecType.CallToolResult(result),
  "tools-call-unknown": ({ result }) => isSpecType.CallToolResult(result),
  "subscriptions-acknowledged": (message) => isSpecType.SubscriptionsAcknowledgedNotification(message),
  "subscriptions-end": ({ result }) => isSpecType.SubscriptionsListenResult(result),
  "notifications-progress": (message) => isSpecType.ProgressNotification(message),
  "notifications-message": (message) => isSpecType.LoggingMessageNotification(message),
  initialize: ({ result }) => isSpecType.InitializeResult(result),
};

describe.each(Object.entries(SAID))("in %s", (revision, messages) => {
  it.each(Object.entries(messages))("%s has the original text", async (name, say) => {
    await using talk = new Conversation();
    const message = await say(talk);
    await expect(talk.stable(message)).toMatchFileSnapshot(`fixtures/${revision}/${name}.json`);
    const fits = Object.hasOwn(SCHEMAS, name) ? SCHEMAS[name] : undefined;
    expect(fits?.(message) ?? "no schema").toBeOneOf([true, "no schema"]);
    const form =
      "method" in message
        ? "id" in message
          ? isSpecType.JSONRPCRequest(message)
          : isSpecType.JSONRPCNotification(message)
        : isSpecType.JSONRPCResponse(message);
    expect(form).toBe(true);
  });
});
