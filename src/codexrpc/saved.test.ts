import { appendFileSync, existsSync, mkdirSync, readdirSync, readFileSync, renameSync, symlinkSync, writeFileSync } from "node:fs";
import path from "node:path";
import { expect, it } from "vitest";
import {
  errorOf,
  eventsOf,
  type FrontEndSession,
  frontEnd,
  MemoryAgent,
  principal,
  resultOf,
  text,
  untilEvent,
} from "../../test/support/clients/frontEndSession.js";
import { valueAt } from "../../test/support/scenarios/scenario.js";

interface Saved {
  readonly conversationId: string;
  readonly rolloutPath: string;
}

/** A conversation with one turn. */
async function converse(client: FrontEndSession, words: string, params: unknown = {}): Promise<Saved> {
  const opened = await resultOf(client, "newConversation", params);
  const saved = { conversationId: String(opened["conversationId"]), rolloutPath: String(opened["rolloutPath"]) };
  await resultOf(client, "addConversationListener", saved);
  await resultOf(client, "sendUserMessage", { ...saved, items: text(words) });
  await untilEvent(client, saved.conversationId, "task_complete");
  return saved;
}

it("lists saved conversations page by page, newest first, and skips other files", async () => {
  await using agent = new MemoryAgent();
  await using client = frontEnd(agent);
  const first = await converse(client, "!say one");
  const second = await converse(client, "!say two");
  const third = await converse(client, "!say three");
  const unsaid = await resultOf(client, "newConversation", {});
  writeFileSync(second.rolloutPath, "{ this is no rollout\n");
  const page = await resultOf(client, "listConversations", { pageSize: 1 });
  expect(page).toEqual({
    items: [
      { conversationId: third.conversationId, path: third.rolloutPath, preview: "!say three", timestamp: expect.stringMatching(/^20.*Z$/) },
    ],
    nextCursor: expect.any(String),
  });
  const rest = await resultOf(client, "listConversations", { cursor: page["nextCursor"] });
  expect(valueAt(rest, "items.0.conversationId")).toBe(first.conversationId);
  expect(rest["nextCursor"]).toBeUndefined();
  expect(JSON.stringify(rest)).not.toContain(String(unsaid["conversationId"]));
  expect(await errorOf(client, "listConversations", { cursor: "from elsewhere" })).toMatchObject({
    code: -32600,
    message: "invalid cursor: from elsewhere",
  });
  expect(await errorOf(client, "listConversations", { pageSize: -1 })).toMatchObject({ code: -32602 });
});

it("resumes a conversation of an earlier process by its path, replays it and continues the same file", async () => {
  await using earlier = new MemoryAgent();
  await using before = frontEnd(earlier);
  const { conversationId, rolloutPath } = await converse(before, "!say Hello", { cwd: earlier.folder, sandbox: "read-only" });
  await using agent = new MemoryAgent({ codexHome: earlier.codexHome });
  await using client = frontEnd(agent);
  const resumed = await resultOf(client, "resumeConversation", { path: rolloutPath, overrides: { model: "gpt-5" } });
  expect(resumed).toEqual({ conversationId, model: "gpt-5", rolloutPath, initialMessages: expect.any(Array) });
  expect(resumed["initialMessages"]).toEqual(
    expect.arrayContaining([
      expect.objectContaining({ type: "user_message", message: "!say Hello", kind: "plain" }),
      { type: "agent_message", message: "Hello" },
    ]),
  );
  const [told, configured] = client.received;
  expect(told).toMatchObject({
    method: "codex/event",
    params: {
      id: "",
      msg: { type: "session_configured", session_id: conversationId, model: "gpt-5", cwd: earlier.folder, rollout_path: rolloutPath },
    },
  });
  expect(valueAt(told, "params._meta")).toBeUndefined();
  expect(configured).toMatchObject({ method: "sessionConfigured", params: { sessionId: conversationId, model: "gpt-5", rolloutPath } });
  await resultOf(client, "addConversationListener", { conversationId });
  await resultOf(client, "sendUserMessage", { conversationId, items: text("!say again") });
  await untilEvent(client, conversationId, "task_complete");
  const lines = readFileSync(rolloutPath, "utf8");
  expect(lines).toContain('"message":"again"');
  // Settings that the overrides did not name are unchanged.
  const contexts = lines.split("\n").filter((line) => line.includes('"turn_context"'));
  expect(JSON.parse(contexts.at(-1) ?? "")).toMatchObject({
    payload: { model: "gpt-5", cwd: earlier.folder, sandbox_policy: { type: "read-only" } },
  });
});

it("resumes by id, and unarchives an archived conversation", async () => {
  await using agent = new MemoryAgent();
  await using client = frontEnd(agent);
  const { conversationId, rolloutPath } = await converse(client, "!say kept");
  expect(await resultOf(client, "archiveConversation", { conversationId, rolloutPath })).toEqual({});
  const archived = path.join(agent.codexHome, "archived_sessions", path.basename(rolloutPath));
  expect(existsSync(archived)).toBe(true);
  expect(await resultOf(client, "listConversations", {})).toEqual({ items: [] });
  for (const named of [archived, rolloutPath])
    expect(await errorOf(client, "archiveConversation", { conversationId, rolloutPath: named })).toMatchObject({
      code: -32600,
      message: `rollout path \`${named}\` must be in sessions directory`,
    });
  await resultOf(client, "resumeConversation", { conversationId });
  expect(valueAt(await resultOf(client, "listConversations", {}), "items.0.path")).toBe(rolloutPath);
});

it("archives a conversation with a running turn: the turn ends, and its listener is notified", async () => {
  await using agent = new MemoryAgent();
  await using client = frontEnd(agent);
  const { conversationId, rolloutPath } = await converse(client, "!say begun");
  await resultOf(client, "sendUserMessage", { conversationId, items: text("!hang") });
  await client.until(() => eventsOf(client, conversationId).find(({ message }) => message === "!hang"));
  expect(await resultOf(client, "archiveConversation", { conversationId, rolloutPath })).toEqual({});
  expect(await untilEvent(client, conversationId, "turn_aborted")).toBeDefined();
  expect(readdirSync(path.join(agent.codexHome, "archived_sessions"))).toEqual([path.basename(rolloutPath)]);
});

it("accepts no path but that of the rollout itself", async () => {
  await using agent = new MemoryAgent();
  await using client = frontEnd(agent);
  const one = await converse(client, "!say one");
  const other = await converse(client, "!say other");
  const name = path.basename(one.rolloutPath);
  const outside = path.join(agent.folder, name);
  writeFileSync(outside, readFileSync(one.rolloutPath));
  const linked = path.join(agent.folder, "linked");
  mkdirSync(linked);
  symlinkSync(one.rolloutPath, path.join(linked, name));
  const refused = [
    outside,
    path.join(linked, name),
    "/etc/passwd",
    name,
    path.join(agent.codexHome, "config.toml"),
    `${one.rolloutPath}/../x`,
  ];
  for (const named of refused) {
    const error = { code: -32600, message: `rollout path \`${named}\` must be in sessions directory` };
    expect(await errorOf(client, "resumeConversation", { path: named })).toMatchObject(error);
    if (named.endsWith(name)) expect(await errorOf(client, "archiveConversation", { ...one, rolloutPath: named })).toMatchObject(error);
  }
  expect(await errorOf(client, "archiveConversation", { ...one, rolloutPath: other.rolloutPath })).toMatchObject({
    code: -32600,
    message: `rollout path \`${other.rolloutPath}\` does not match conversation id ${one.conversationId}`,
  });
  // The file is replaced by a link to another one.
  renameSync(one.rolloutPath, `${outside}.moved`);
  symlinkSync(`${outside}.moved`, one.rolloutPath);
  expect(await errorOf(client, "resumeConversation", { path: one.rolloutPath })).toMatchObject({ code: -32600 });
});

it("names the error in a rollout that cannot be resumed, and in the request", async () => {
  await using agent = new MemoryAgent();
  await using client = frontEnd(agent);
  const { conversationId, rolloutPath } = await converse(client, "!say once");
  expect(await errorOf(client, "resumeConversation", { conversationId, overrides: { profile: "nope" } })).toMatchObject({
    code: -32600,
    message: expect.stringContaining("error deriving config: config profile `nope` not found"),
  });
  expect(await errorOf(client, "resumeConversation", {})).toMatchObject({ code: -32602 });
  expect(await errorOf(client, "resumeConversation", { history: [] })).toMatchObject({ code: -32602 });
  await using later = new MemoryAgent({ codexHome: agent.codexHome });
  await using other = frontEnd(later);
  // An incomplete last line is ignored; a file without a beginning is an error.
  appendFileSync(rolloutPath, '{"timestamp":"2025');
  expect(await resultOf(other, "resumeConversation", { path: rolloutPath })).toMatchObject({ conversationId });
  await using last = new MemoryAgent({ codexHome: agent.codexHome });
  await using third = frontEnd(last);
  writeFileSync(rolloutPath, "");
  expect(await errorOf(third, "resumeConversation", { path: rolloutPath })).toMatchObject({
    code: -32603,
    message: expect.stringMatching(/^error resuming conversation: .*empty session file/),
  });
});

it("shows a principal its own conversations only, and refuses those of others as not found", async () => {
  await using agent = new MemoryAgent();
  await using ann = frontEnd(agent, principal("ann"));
  await using ben = frontEnd(agent, principal("ben"));
  const { conversationId, rolloutPath } = await converse(ann, "!say mine");
  expect(await resultOf(ben, "listConversations", {})).toEqual({ items: [] });
  const unknown = { code: -32600, message: `conversation not found: ${conversationId}` };
  expect(await errorOf(ben, "resumeConversation", { conversationId })).toMatchObject(unknown);
  expect(await errorOf(ben, "resumeConversation", { path: rolloutPath })).toMatchObject(unknown);
  expect(await errorOf(ben, "archiveConversation", { conversationId, rolloutPath })).toMatchObject(unknown);
  expect(await errorOf(ben, "interruptConversation", { conversationId })).toMatchObject(unknown);
  expect(valueAt(await resultOf(ann, "listConversations", {}), "items.0.conversationId")).toBe(conversationId);
  // An operator may listen to any conversation, so the list contains it.
  await using operator = frontEnd(agent, principal("ops", ["call", "read", "manage", "operator"]));
  expect(valueAt(await resultOf(operator, "listConversations", {}), "items.0")).toMatchObject({ conversationId, path: rolloutPath });
});
