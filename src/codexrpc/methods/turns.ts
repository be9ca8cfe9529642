import * as z from "zod/mini";
import type { SaidInput } from "../../agent/agent.js";
import { invalidParams } from "../../jsonrpc/errors.js";
import type { ThreadId } from "../../lib/ids.js";
import { endsWithin } from "../../lib/promises.js";
import type { MethodContext } from "../surface/method.js";
import { defineMethod } from "../surface/method.js";
import { failing } from "../surface/refusals.js";
import {
  ApprovalPolicyWord,
  askedSettings,
  ConversationId,
  InputItems,
  type InputPart,
  modelFields,
  NewConversationShape,
  optional,
  SandboxPolicyShape,
  SubscriptionId,
  SummaryWord,
  Words,
} from "../surface/shapes.js";

const NOT_FOUND = "`-32600` `conversation not found: {id}`: it does not exist, or the caller may not use it";

export const newConversation = defineMethod({
  name: "newConversation",
  scope: "call",
  params: NewConversationShape,
  about:
    "Opens a conversation without a first message. The settings are those of the tool `codex`; a relative `cwd` is resolved against the server's own folder. " +
    "`includePlanTool` and `includeApplyPatchTool` are accepted and ignored: both tools are always available.",
  answers:
    "`conversationId`, `model`, `reasoningEffort` if it is set, `rolloutPath`. With the engine `codex` the file appears with the first turn.",
  errors: ["`-32600` `error deriving config: …`", "`-32603` `error creating conversation: …`"],
  example: [
    {
      id: 1,
      method: "newConversation",
      params: { model: "gpt-6.1-sol", cwd: "/repo", approvalPolicy: "on-request", sandbox: "workspace-write" },
    },
    {
      id: 1,
      result: {
        conversationId: "01998a2e-…",
        model: "gpt-6.1-sol",
        reasoningEffort: "high",
        rolloutPath: "/home/u/.codex/sessions/2025/09/26/rollout-….jsonl",
      },
    },
  ],
  async call(params, { agent, ask, client }) {
    const cursor = agent.feed.now;
    const thread = await failing("error creating conversation", agent.open(ask, askedSettings(params)));
    client.begins(thread.id, cursor);
    return { conversationId: thread.id, ...modelFields(thread.settings), rolloutPath: thread.recordPath };
  },
});

export const sendUserMessage = defineMethod({
  name: "sendUserMessage",
  scope: "call",
  params: z.object({ conversationId: ConversationId, items: InputItems }),
  about:
    "Sends a message to a conversation. A running turn gets it before its next request to the model; otherwise a new turn starts. A message with " +
    "images always starts a new turn. Listeners get the events.",
  answers: "`{}` as soon as the turn has the message.",
  errors: [NOT_FOUND, "`-32000` if too many turns are running and waiting"],
  example: [
    { id: 5, method: "sendUserMessage", params: { conversationId: "0199…a1", items: [{ type: "text", data: { text: "Run the tests" } }] } },
    { id: 5, result: {} },
  ],
  async call({ conversationId, items }, { agent, ask, client }) {
    const input = inputOf(items);
    await client.send(conversationId, ask, (sending) => agent.say(sending, conversationId, input));
    return {};
  },
});

export const sendUserTurn = defineMethod({
  name: "sendUserTurn",
  scope: "call",
  params: z.object({
    conversationId: ConversationId,
    items: InputItems,
    cwd: Words,
    approvalPolicy: ApprovalPolicyWord,
    sandboxPolicy: SandboxPolicyShape,
    model: Words,
    effort: optional(Words),
    summary: SummaryWord,
  }),
  about:
    "Like `sendUserMessage`, with settings that the conversation keeps for its later turns. While a turn with other settings runs, the message waits behind that turn: " +
    "none of its settings is dropped. Without `effort`, the model's default is used.",
  answers: "`{}` as soon as the turn has the message, or the new turn is queued.",
  errors: [NOT_FOUND, "`-32600` for settings above the ceilings of a listening server; the error names the setting that raises them"],
  example: [
    {
      id: 6,
      method: "sendUserTurn",
      params: {
        conversationId: "0199…a1",
        items: [{ type: "text", data: { text: "again" } }],
        cwd: "/repo",
        approvalPolicy: "never",
        sandboxPolicy: { mode: "read-only" },
        model: "gpt-6.1-sol",
        effort: "medium",
        summary: "auto",
      },
    },
    { id: 6, result: {} },
  ],
  async call({ conversationId, items, ...change }, { agent, ask, client }) {
    const input = inputOf(items);
    await client.send(conversationId, ask, (sending) => agent.say(sending, conversationId, input, change));
    return {};
  },
});

/** How long the response waits for a listener whose client does not read. */
const DELIVERY_MS = 2_000;

export const interruptConversation = defineMethod({
  name: "interruptConversation",
  scope: "call",
  params: z.object({ conversationId: ConversationId }),
  about:
    "Interrupts the running turn of a conversation and the queued ones. The response is sent when they have ended, after the events for the client's own listeners; " +
    "immediately if no turn runs. A message that was sent before it and has not started a turn is withdrawn; one that was sent after it starts its turn.",
  answers: "`abortReason`: always `interrupted`.",
  errors: [NOT_FOUND],
  example: [
    { id: 7, method: "interruptConversation", params: { conversationId: "0199…a1" } },
    {
      method: "codex/event/turn_aborted",
      params: { conversationId: "0199…a1", id: "0", msg: { type: "turn_aborted", reason: "interrupted" } },
    },
    { id: 7, result: { abortReason: "interrupted" } },
  ],
  async call({ conversationId }, context) {
    await interrupt(conversationId, context);
    return { abortReason: "interrupted" };
  },
});

export const addConversationListener = defineMethod({
  name: "addConversationListener",
  scope: "read",
  params: z.object({ conversationId: ConversationId, experimentalRawEvents: optional(z.boolean()) }),
  about:
    "Sends the events of a conversation to the client, as `codex/event/<tag>` notifications, until the listener is removed or the session ends. There may be several " +
    "listeners, and each gets all events: the running turn from its start, and all later turns. The first listener of the session that opened the conversation " +
    "also gets the events before it was added. A listening client with the scope `call` is asked for the approvals of these turns. `raw_response_item` is " +
    "sent only with `experimentalRawEvents`.",
  answers: "`subscriptionId`, for `removeConversationListener`.",
  errors: [
    "`-32600` `conversation not found: {id}`: it does not exist, or it belongs to another principal and the caller is not an operator",
  ],
  example: [
    { id: 8, method: "addConversationListener", params: { conversationId: "0199…a1" } },
    { id: 8, result: { subscriptionId: "7f1c3c0e-…" } },
    {
      method: "codex/event/agent_message",
      params: { conversationId: "0199…a1", id: "0", msg: { type: "agent_message", message: "Done." } },
    },
  ],
  async call({ conversationId, experimentalRawEvents: raw = false }, { client }) {
    return { subscriptionId: await client.listen(conversationId, { raw }) };
  },
});

export const removeConversationListener = defineMethod({
  name: "removeConversationListener",
  scope: "read",
  params: z.object({ subscriptionId: SubscriptionId }),
  about: "Removes a listener of the same session. The conversation continues.",
  answers: "`{}`",
  errors: ["`-32600` `subscription not found: {id}`"],
  example: [
    { id: 9, method: "removeConversationListener", params: { subscriptionId: "7f1c3c0e-…" } },
    { id: 9, result: {} },
  ],
  async call({ subscriptionId }, { client }) {
    client.unlisten(subscriptionId);
    return {};
  },
});

/** How long an interrupt waits for messages that it withdrew: one may still have started a turn. */
const WITHDRAWING_MS = 2_000;

/**
 * Returns when no turn runs any more and this client's listeners have reported it. Messages that the client sent before are withdrawn;
 * those it sends later are not. Throws `ThreadNotFound`.
 */
export async function interrupt(id: ThreadId, { agent, ask, client }: MethodContext): Promise<void> {
  const told: Promise<unknown>[] = [];
  const stopTurns = async () => {
    const turns = await agent.runningTurns(ask, id);
    told.push(...turns.map((turn) => client.turnEndSent(turn)));
    // `read` throws if the conversation does not exist.
    if (!(await agent.interrupt(ask, id))) await agent.read(ask, id);
    await Promise.all(turns.map(({ outcome }) => outcome));
  };
  await client.halt(id, async (withdrawn) => {
    await Promise.all([stopTurns(), endsWithin(WITHDRAWING_MS, withdrawn)]);
    if ((await agent.runningTurns(ask, id)).length > 0) await stopTurns();
  });
  await endsWithin(DELIVERY_MS, Promise.all(told));
}

function inputOf(items: readonly InputPart[]): SaidInput {
  const text = items.flatMap((item) => ("text" in item ? [item.text] : [])).join("\n");
  const images = items.flatMap(imagesIn);
  if (text.trim() === "" && images.length === 0) throw invalidParams("`items`: must have a text that is not blank, or an image");
  return { text, images };
}

function imagesIn(item: InputPart): NonNullable<SaidInput["images"]> {
  if ("text" in item) return [];
  return "imageUrl" in item ? [{ url: item.imageUrl }] : [{ file: item.imagePath }];
}
