import type { ApprovalPolicy } from "../../../exec/policies.js";
import type { AskElicitation, McpAnswer } from "../mcpServers/questions.js";
import type { TurnSlot } from "./turnSlot.js";

/** Puts the questions of a thread's MCP servers to whoever follows its turn. Without a turn, or under `never`, they are declined. */
export function serverQuestions(turns: TurnSlot, approvalPolicy: ApprovalPolicy): AskElicitation {
  return async ({ server, message, requestedSchema }, { signal }) => {
    if (!turns.running || approvalPolicy === "never") return { action: "decline" };
    const form = { kind: "form" as const, callId: "", server, message, requestedSchema };
    const decision = await turns.running.ask({ ...form, staysInSandbox: false, needsPerson: true }, signal);
    if (decision.kind === "answered") return { action: "accept", content: decision.content as McpContent };
    return { action: decision.kind === "abort" ? "cancel" : "decline" };
  };
}

/** What a client filled in goes on as it is: the server that asked checks it against its own schema. */
type McpContent = Extract<McpAnswer, { action: "accept" }>["content"];
