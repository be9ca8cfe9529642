import { isFields } from "../../../lib/fields.js";
import { NEEDS_PERSON, type Question } from "./question.js";
import { textOf } from "./read.js";
import { asksAboutTool, toolQuestion } from "./toolQuestion.js";

const FORMS: ReadonlySet<unknown> = new Set(["form", "openai/form", "openaiForm"]);

/** One of Codex's own MCP servers wants something filled in. Addresses to visit and proofs of identity cannot be passed on. */
export const mcpQuestion: Question = {
  read(params, context) {
    const { mode, requestedSchema } = params;
    if (!FORMS.has(mode) || !isFields(requestedSchema) || context.settings.approvalPolicy === "never")
      return { kind: "answer", result: answerWith("decline") };
    if (asksAboutTool(params)) return toolQuestion.read(params, context);
    return {
      kind: "ask",
      subject: {
        kind: "form",
        callId: "",
        ...NEEDS_PERSON,
        server: textOf(params["serverName"]),
        message: textOf(params["message"]),
        requestedSchema,
      },
    };
  },
  answer(decision, params) {
    if (asksAboutTool(params)) return toolQuestion.answer(decision, params);
    if (decision.kind === "answered") return answerWith("accept", decision.content);
    return answerWith(decision.kind === "abort" ? "cancel" : "decline");
  },
};

function answerWith(action: "accept" | "decline" | "cancel", content: unknown = null): unknown {
  return { action, content, _meta: null };
}
