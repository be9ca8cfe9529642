import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { expect, it } from "vitest";
import {
  errorOf,
  eventsOf,
  frontEnd,
  MemoryAgent,
  principal,
  resultOf,
  text,
  untilEvent,
} from "../../test/support/clients/frontEndSession.js";
import { valueAt } from "../../test/support/scenarios/scenario.js";

const UUID = /^[0-9a-f-]{36}$/;

it("opens a conversation, accepts messages and sends its listener all events in order", async () => {
  await using agent = new MemoryAgent();
  await using client = frontEnd(agent);
  const opened = await resultOf(client, "newConversation", { cwd: agent.folder, approvalPolicy: "never", sandbox: "read-only" });
  const { conversationId } = opened;
  expect(opened).toEqual({
    conversationId: expect.stringMatching(UUID),
    model: expect.any(String),
    rolloutPath: expect.stringContaining(String(conversationId)),
  });
  expect(await resultOf(client, "addConversationListener", { conversationId })).toEqual({ subscriptionId: expect.stringMatching(UUID) });
  expect(await resultOf(client, "sendUserMessage", { conversationId, items: text("!say Done.") })).toEqual({});
  await untilEvent(client, conversationId, "task_complete");
  const types = eventsOf(client, conversationId).map(({ type }) => type);
  expect(types.indexOf("task_started")).toBeLessThan(types.indexOf("user_message"));
  expect(types.at(-1)).toBe("task_complete");
  expect(types).not.toContain("raw_response_item");
  expect(types).not.toContain("session_configured");
  expect(eventsOf(client, conversationId).find(({ type }) => type === "user_message")).toMatchObject({
    message: "!say Done.",
    kind: "plain",
  });
  const last = client.received.findLast(({ method }) => method === "codex/event/agent_message");
  expect(last).toEqual({
    jsonrpc: "2.0",
    method: "codex/event/agent_message",
    params: { conversationId, id: "0", msg: { type: "agent_message", message: "Done." } },
  });
});

it("stores a conversation at once, and continues it in another process with its settings", async () => {
  await using agent = new MemoryAgent();
  await using client = frontEnd(agent);
  const { conversationId, rolloutPath } = await resultOf(client, "newConversation", { model: "gpt-5-codex", sandbox: "read-only" });
  expect(existsSync(String(rolloutPath))).toBe(true);
  expect(readFileSync(String(rolloutPath), "utf8")).toContain('"type":"session_meta"');
  await using later = new MemoryAgent({ codexHome: agent.codexHome });
  await using other = frontEnd(later);
  await resultOf(other, "addConversationListener", { conversationId });
  await resultOf(other, "sendUserMessage", { conversationId, items: text("!say later") });
  await untilEvent(other, conversationId, "task_complete");
  expect(readFileSync(String(rolloutPath), "utf8")).toContain('"model":"gpt-5-codex"');
});

it("sends the first listener all earlier events, and a listener that is added during a turn all events of that turn", async () => {
  await using agent = new MemoryAgent();
  await using client = frontEnd(agent);
  const { conversationId } = await resultOf(client, "newConversation", {});
  await resultOf(client, "sendUserMessage", { conversationId, items: text("!say early") });
  await agent.open.settle();
  await resultOf(client, "addConversationListener", { conversationId });
  expect(await untilEvent(client, conversationId, "agent_message")).toMatchObject({ message: "early" });
  await resultOf(client, "sendUserMessage", { conversationId, items: text("!hang") });
  await using second = frontEnd(agent);
  await resultOf(second, "addConversationListener", { conversationId });
  expect(await untilEvent(second, conversationId, "user_message")).toMatchObject({ message: "!hang" });
  expect(eventsOf(second, conversationId).some(({ message }) => message === "early")).toBe(false);
  await resultOf(client, "interruptConversation", { conversationId });
});

it("answers an interrupt after listeners know of the aborted turn, and at once if nothing runs", async () => {
  await using agent = new MemoryAgent();
  await using client = frontEnd(agent);
  const { conversationId } = await resultOf(client, "newConversation", {});
  expect(await resultOf(client, "interruptConversation", { conversationId })).toEqual({ abortReason: "interrupted" });
  await resultOf(client, "addConversationListener", { conversationId });
  await resultOf(client, "sendUserMessage", { conversationId, items: text("!hang") });
  await untilEvent(client, conversationId, "task_started");
  expect(await resultOf(client, "interruptConversation", { conversationId })).toEqual({ abortReason: "interrupted" });
  expect(client.received.at(-2)).toMatchObject({
    method: "codex/event/turn_aborted",
    params: { conversationId, id: "0", msg: { type: "turn_aborted", reason: "interrupted" } },
  });
});

it("processes requests to a conversation in order, without waiting for responses: an interrupt does not affect later messages", async () => {
  await using agent = new MemoryAgent();
  await using client = frontEnd(agent);
  const { conversationId } = await resultOf(client, "newConversation", {});
  await resultOf(client, "addConversationListener", { conversationId });
  const say = (...lines: readonly string[]) => client.request("sendUserMessage", { conversationId, items: text(...lines) });
  const interrupt = () => client.request("interruptConversation", { conversationId });
  await say("!hang");
  const answers = await Promise.all([interrupt(), say("!hang"), interrupt(), interrupt(), say("!say after")]);
  expect([answers[0], answers[2], answers[3], answers[4]].map((answer) => answer?.["result"])).toEqual([
    { abortReason: "interrupted" },
    { abortReason: "interrupted" },
    { abortReason: "interrupted" },
    {},
  ]);
  expect(await untilEvent(client, conversationId, "agent_message")).toMatchObject({ message: "after" });
  await untilEvent(client, conversationId, "task_complete");
  const types = eventsOf(client, conversationId).map(({ type }) => type);
  expect(types.lastIndexOf("turn_aborted")).toBeLessThan(types.lastIndexOf("user_message"));
});

it("gives a running turn further messages, and begins another turn for other settings", async () => {
  await using agent = new MemoryAgent();
  await using client = frontEnd(agent);
  const { conversationId } = await resultOf(client, "newConversation", { sandbox: "read-only", approvalPolicy: "never" });
  await resultOf(client, "addConversationListener", { conversationId });
  await resultOf(client, "sendUserMessage", { conversationId, items: text("!slow 100 5", "!say end") });
  await untilEvent(client, conversationId, "user_message");
  await resultOf(client, "sendUserMessage", { conversationId, items: text("!say steered") });
  const turn = { cwd: agent.folder, approvalPolicy: "on-request", model: "gpt-5-codex", effort: "high", summary: "concise" };
  await resultOf(client, "sendUserTurn", { conversationId, items: text("!say own"), ...turn, sandboxPolicy: { mode: "workspace-write" } });
  const ends = () => eventsOf(client, conversationId).filter(({ type }) => type === "task_complete");
  await client.until(() => (ends().length === 2 ? true : undefined));
  const said = client.received
    .filter(({ method }) => method === "codex/event/user_message")
    .map(({ params }) => [valueAt(params, "id"), valueAt(params, "msg.message")]);
  expect(said).toEqual([
    ["0", "!slow 100 5\n!say end"],
    ["0", "!say steered"],
    ["1", "!say own"],
  ]);
});

it("keeps the settings of a turn for later turns, in the record too", async () => {
  await using agent = new MemoryAgent();
  await using client = frontEnd(agent);
  const { conversationId, rolloutPath } = await resultOf(client, "newConversation", { sandbox: "read-only" });
  await resultOf(client, "addConversationListener", { conversationId });
  const sandboxPolicy = { type: "workspace-write", network_access: true, writable_roots: ["/opt"] };
  const turn = { cwd: agent.folder, approvalPolicy: "never", model: "gpt-5-codex", effort: "high", summary: "concise" };
  await resultOf(client, "sendUserTurn", { conversationId, items: text("!say one"), ...turn, sandboxPolicy });
  await untilEvent(client, conversationId, "task_complete");
  await resultOf(client, "sendUserMessage", { conversationId, items: text("!say two") });
  await client.until(() => eventsOf(client, conversationId).filter(({ type }) => type === "task_complete")[1]);
  const contexts = readFileSync(String(rolloutPath), "utf8")
    .split("\n")
    .filter((line) => line.includes('"turn_context"'))
    .map((line) => valueAt(JSON.parse(line), "payload"));
  const policy = { ...sandboxPolicy, exclude_tmpdir_env_var: false, exclude_slash_tmp: false };
  const kept = {
    cwd: agent.folder,
    approval_policy: "never",
    sandbox_policy: policy,
    model: "gpt-5-codex",
    effort: "high",
    summary: "concise",
  };
  expect(contexts[0]).toMatchObject({ sandbox_policy: { type: "read-only" } });
  expect(contexts.slice(1)).toEqual([expect.objectContaining(kept), expect.objectContaining(kept)]);
  expect(readFileSync(String(rolloutPath), "utf8").match(/<environment_context>/g)).toHaveLength(2);
});

it("asks its client about commands and patches, and denies when the client answers with an error", async () => {
  await using agent = new MemoryAgent();
  await using client = frontEnd(agent);
  const { conversationId } = await resultOf(client, "newConversation", {
    cwd: agent.folder,
    approvalPolicy: "untrusted",
    sandbox: "read-only",
  });
  await resultOf(client, "addConversationListener", { conversationId });
  await resultOf(client, "addConversationListener", { conversationId });
  await resultOf(client, "sendUserMessage", { conversationId, items: text("!shell touch a.txt", "!patch b.txt hello", "!say done") });
  const asked = await client.until(() => client.received.find(({ method }) => method === "execCommandApproval"));
  expect(asked["params"]).toEqual({
    conversation_id: conversationId,
    call_id: expect.any(String),
    command: expect.arrayContaining(["touch a.txt"]),
    cwd: agent.folder,
  });
  const before = client.received[client.received.indexOf(asked) - 1];
  expect(before?.["method"]).toBe("codex/event/exec_approval_request");
  client.send({ jsonrpc: "2.0", id: asked["id"], result: { decision: "denied" } });
  const patch = await client.until(() => client.received.find(({ method }) => method === "applyPatchApproval"));
  expect(valueAt(patch, "params.file_changes")).toEqual({
    [`${agent.folder}/b.txt`]: { add: { content: expect.stringContaining("hello") } },
  });
  client.send({ jsonrpc: "2.0", id: patch["id"], error: { code: -32601, message: "not here" } });
  await untilEvent(client, conversationId, "task_complete");
  expect(existsSync(`${agent.folder}/a.txt`) || existsSync(`${agent.folder}/b.txt`)).toBe(false);
  // Two listeners receive the question twice, but their client is asked once.
  expect(client.received.filter(({ method }) => method === "execCommandApproval")).toHaveLength(1);
});

it("lets the first of several clients decide, and withdraws the question from the others", async () => {
  await using agent = new MemoryAgent();
  await using one = frontEnd(agent);
  await using other = frontEnd(agent);
  const { conversationId } = await resultOf(one, "newConversation", {
    cwd: agent.folder,
    approvalPolicy: "untrusted",
    sandbox: "workspace-write",
  });
  for (const client of [one, other]) await resultOf(client, "addConversationListener", { conversationId });
  await resultOf(one, "sendUserMessage", { conversationId, items: text("!shell touch yes.txt", "!say done") });
  const questions = await Promise.all(
    [one, other].map((client) => client.until(() => client.received.find(({ method }) => method === "execCommandApproval"))),
  );
  // A watcher that cannot answer does not decide for the one who can.
  other.send({ jsonrpc: "2.0", id: questions[1]?.["id"], error: { code: -32601, message: "method not found" } });
  one.send({ jsonrpc: "2.0", id: questions[0]?.["id"], result: { decision: "approved" } });
  await untilEvent(one, conversationId, "task_complete");
  expect(existsSync(`${agent.folder}/yes.txt`)).toBe(true);
});

it("keeps a question for later listeners after its client has gone", async () => {
  await using agent = new MemoryAgent();
  const one = frontEnd(agent);
  const { conversationId } = await resultOf(one, "newConversation", {
    cwd: agent.folder,
    approvalPolicy: "untrusted",
    sandbox: "workspace-write",
  });
  await resultOf(one, "addConversationListener", { conversationId });
  await resultOf(one, "sendUserMessage", { conversationId, items: text("!shell touch later.txt", "!say done") });
  await one.until(() => one.received.find(({ method }) => method === "execCommandApproval"));
  await one[Symbol.asyncDispose]();
  await using other = frontEnd(agent);
  await resultOf(other, "addConversationListener", { conversationId });
  const asked = await other.until(() => other.received.find(({ method }) => method === "execCommandApproval"));
  other.send({ jsonrpc: "2.0", id: asked["id"], result: { decision: "approved" } });
  await untilEvent(other, conversationId, "task_complete");
  expect(existsSync(`${agent.folder}/later.txt`)).toBe(true);
});

it("keeps a question open for a client that removes its listener, until it is decided", async () => {
  await using agent = new MemoryAgent();
  await using one = frontEnd(agent);
  await using other = frontEnd(agent);
  const { conversationId } = await resultOf(one, "newConversation", {
    cwd: agent.folder,
    approvalPolicy: "untrusted",
    sandbox: "workspace-write",
  });
  const { subscriptionId } = await resultOf(one, "addConversationListener", { conversationId });
  await resultOf(other, "addConversationListener", { conversationId });
  await resultOf(one, "sendUserMessage", { conversationId, items: text("!shell touch yes.txt", "!say done") });
  const [asked, question] = await Promise.all(
    [one, other].map((client) => client.until(() => client.received.find(({ method }) => method === "execCommandApproval"))),
  );
  await resultOf(one, "removeConversationListener", { subscriptionId });
  expect(await errorOf(one, "removeConversationListener", { subscriptionId })).toMatchObject({ code: -32600 });
  const heard = eventsOf(one, conversationId).length;
  other.send({ jsonrpc: "2.0", id: question?.["id"], result: { decision: "denied" } });
  await untilEvent(other, conversationId, "task_complete");
  const withdrawn = await one.until(() => one.received.find(({ method }) => method === "notifications/cancelled"));
  expect(valueAt(withdrawn, "params.requestId")).toBe(asked?.["id"]);
  expect(eventsOf(one, conversationId)).toHaveLength(heard);
});

it("ends the turn when a client answers abort", async () => {
  await using agent = new MemoryAgent();
  await using client = frontEnd(agent);
  const { conversationId } = await resultOf(client, "newConversation", {
    cwd: agent.folder,
    approvalPolicy: "untrusted",
    sandbox: "read-only",
  });
  await resultOf(client, "addConversationListener", { conversationId });
  await resultOf(client, "sendUserMessage", { conversationId, items: text("!shell touch a.txt", "!say done") });
  const asked = await client.until(() => client.received.find(({ method }) => method === "execCommandApproval"));
  client.send({ jsonrpc: "2.0", id: asked["id"], result: { decision: "abort" } });
  expect(await untilEvent(client, conversationId, "turn_aborted")).toEqual({ type: "turn_aborted", reason: "interrupted" });
});

it("sends listeners of several conversations all events of each, in order, and other callers nothing", async () => {
  await using agent = new MemoryAgent({ ceilings: { allowRoots: ["/"] } });
  await using ann = frontEnd(agent, principal("ann"));
  await using ben = frontEnd(agent, principal("ben"));
  await using watcher = frontEnd(agent, principal("ops", ["call", "read", "manage", "operator"]));
  await using stranger = frontEnd(agent, principal("eve"));
  const conversations = await Promise.all(
    [ann, ben].map(async (client) => (await resultOf(client, "newConversation", { cwd: agent.folder }))["conversationId"]),
  );
  for (const conversationId of conversations) {
    await resultOf(watcher, "addConversationListener", { conversationId });
    expect(await errorOf(stranger, "addConversationListener", { conversationId })).toMatchObject({
      code: -32600,
      message: `conversation not found: ${String(conversationId)}`,
    });
  }
  const [first, second] = conversations;
  await resultOf(ann, "addConversationListener", { conversationId: first });
  await resultOf(ben, "addConversationListener", { conversationId: second });
  const script = text("!tokens 500", "!say end");
  await Promise.all([
    resultOf(ann, "sendUserMessage", { conversationId: first, items: script }),
    resultOf(ben, "sendUserMessage", { conversationId: second, items: script }),
  ]);
  for (const client of [ann, watcher]) await untilEvent(client, first, "task_complete");
  for (const client of [ben, watcher]) await untilEvent(client, second, "task_complete");
  expect(eventsOf(watcher, first).length).toBeGreaterThan(1_000);
  expect(eventsOf(watcher, first)).toEqual(eventsOf(ann, first));
  expect(eventsOf(watcher, second)).toEqual(eventsOf(ben, second));
  expect(eventsOf(ann, second)).toEqual([]);
  expect(stranger.received.filter(({ method }) => method !== undefined)).toEqual([]);
});

it("answers a request that cannot be served with an error that says why", async () => {
  await using agent = new MemoryAgent();
  await using client = frontEnd(agent);
  const nobody = "01998a2e-5c1e-7d40-9f0a-2f6a5f1d7c11";
  const items = text("hi");
  expect(await errorOf(client, "sendUserMessage", { conversationId: nobody, items })).toMatchObject({
    code: -32600,
    message: `conversation not found: ${nobody}`,
  });
  for (const method of ["interruptConversation", "addConversationListener"])
    expect(await errorOf(client, method, { conversationId: nobody })).toMatchObject({ message: `conversation not found: ${nobody}` });
  expect(await errorOf(client, "removeConversationListener", { subscriptionId: nobody })).toMatchObject({
    code: -32600,
    message: `subscription not found: ${nobody}`,
  });
  expect(await errorOf(client, "sendUserMessage", { items })).toMatchObject({ code: -32602 });
  expect(await errorOf(client, "sendUserMessage")).toMatchObject({ code: -32602 });
  expect(await errorOf(client, "sendUserMessage", { conversationId: nobody, items: [{ type: "text" }] })).toMatchObject({
    code: -32602,
    message: "sendUserMessage: `items[0]`: needs `data.text`, a string",
  });
  expect(await errorOf(client, "newConversation", { sandbox: "none" })).toMatchObject({ code: -32602 });
  expect(await errorOf(client, "newConversation", { profile: "nope" })).toMatchObject({
    code: -32600,
    message: expect.stringContaining("error deriving config: config profile `nope` not found"),
  });
  expect(await errorOf(client, "noSuchMethod", {})).toMatchObject({ code: -32601, message: "method not found: noSuchMethod" });
  expect(await errorOf(client, "resources/list", {})).toMatchObject({ code: -32601, message: "method not found: resources/list" });
  expect(await errorOf(client, "newConversation", { cwd: "/no/such/folder" })).toMatchObject({
    code: -32600,
    data: { code: "cwd_unusable" },
  });
  const { conversationId } = await resultOf(client, "newConversation", {});
  expect(await errorOf(client, "sendUserMessage", { conversationId, items: text(" ", "") })).toMatchObject({
    code: -32602,
    message: "`items`: must have a text that is not blank, or an image",
  });
});

it("names a replacement for methods of other interfaces of Codex", async () => {
  await using agent = new MemoryAgent();
  await using client = frontEnd(agent);
  for (const [method, instead] of [
    ["thread/start", "newConversation"],
    ["turn/start", "sendUserTurn"],
    ["command/exec", "execOneOffCommand"],
    ["getConversationSummary", "listConversations"],
  ])
    expect(await errorOf(client, String(method), {})).toEqual({
      code: -32601,
      message: `method not found: ${method} is served by Codex's app-server only. Use ${instead} here.`,
      data: { method, instead },
    });
  expect(await errorOf(client, "thread/goal/set", {})).toEqual({
    code: -32601,
    message: "method not found: thread/goal/set is served by Codex's app-server only. Start `codex app-server` for it.",
    data: { method: "thread/goal/set" },
  });
});

it("offers none of these methods in the set codex-original", async () => {
  await using agent = new MemoryAgent();
  await using client = frontEnd(agent, undefined, { sets: ["codex-original"] });
  expect(await errorOf(client, "newConversation", {})).toMatchObject({ code: -32601 });
});

it("holds network callers to their ceilings and scopes", async () => {
  await using agent = new MemoryAgent({ ceilings: { allowRoots: [] } });
  await using client = frontEnd(agent, principal("ann"));
  await using reader = frontEnd(agent, principal("ann", ["read"]));
  expect(await errorOf(client, "newConversation", { cwd: "/" })).toMatchObject({ code: -32600, data: { code: "above_ceiling" } });
  expect(await errorOf(reader, "newConversation", {})).toMatchObject({ code: -32600, data: { code: "scope_missing" } });
  const { conversationId } = await resultOf(client, "newConversation", {});
  const turn = { conversationId, items: text("!say hi"), approvalPolicy: "never", model: "m", summary: "auto", cwd: agent.folder };
  const refused = [
    { mode: "danger-full-access" },
    { mode: "workspace-write", network_access: true },
    { mode: "workspace-write", writable_roots: ["/etc"] },
  ];
  for (const sandboxPolicy of refused)
    expect(await errorOf(client, "sendUserTurn", { ...turn, sandboxPolicy })).toMatchObject({
      code: -32600,
      data: { code: "above_ceiling" },
    });
  expect(await errorOf(client, "sendUserTurn", { ...turn, cwd: "/", sandboxPolicy: { mode: "read-only" } })).toMatchObject({
    data: { code: "above_ceiling" },
  });
});

it("shows the model images in the request and named files, and refuses files that its commands could not read", async () => {
  await using agent = new MemoryAgent();
  await using client = frontEnd(agent);
  const { conversationId, rolloutPath } = await resultOf(client, "newConversation", { cwd: agent.folder });
  await resultOf(client, "addConversationListener", { conversationId });
  const png = Buffer.from("\x89PNG\r\n\x1a\n\0\0\0\0IEND\xae\x42\x60\x82", "latin1");
  writeFileSync(`${agent.folder}/shot.png`, png);
  writeFileSync(`${agent.codexHome}/hidden.png`, png);
  const url = `data:image/png;base64,${png.toString("base64")}`;
  const items = [...text("!say seen"), { type: "localImage", data: { path: "shot.png" } }, { type: "image", data: { image_url: url } }];
  await resultOf(client, "sendUserMessage", { conversationId, items });
  expect(await untilEvent(client, conversationId, "user_message")).toMatchObject({ message: "!say seen", images: [url, url] });
  await untilEvent(client, conversationId, "task_complete");
  expect(readFileSync(String(rolloutPath), "utf8")).toContain(`{"type":"input_image","image_url":"${url}"}`);
  for (const path of [`${agent.codexHome}/hidden.png`, "/proc/self/environ", "missing.png", String(rolloutPath)])
    expect(await errorOf(client, "sendUserMessage", { conversationId, items: [{ type: "localImage", data: { path } }] })).toMatchObject({
      code: -32600,
      data: { code: "image_refused" },
    });
});
