import { isDismissed } from "../../../approvals/denials.js";
import type { ApprovalDecision } from "../../../approvals/model.js";
import { type Fields, isFields } from "../../../lib/fields.js";
import { asFields, asList, asText, asTexts, nonEmptyText } from "../appServer/read.js";
import {
  commandQuestion,
  NEEDS_PERSON,
  patchQuestion,
  permissionQuestion,
  type QuestionContext,
  type QuestionKind,
  type ServerReaction,
} from "./questions.js";

const FORMS: ReadonlySet<unknown> = new Set(["form", "openai/form", "openaiForm"]);

/** One of Codex's own MCP servers asks for a form to be filled in. URLs to visit and proofs of identity cannot be forwarded. */
const mcpQuestion: QuestionKind = {
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
        server: asText(params["serverName"]),
        message: asText(params["message"]),
        requestedSchema,
      },
    };
  },
  answer(decision, params) {
    if (asksAboutTool(params)) return toolQuestion.answer(decision, params);
    if (decision.kind === "answered") return answerWith("accept", decision.content);
    return answerWith(decision.kind === "abort" || isDismissed(decision) ? "cancel" : "decline");
  },
};

function answerWith(action: "accept" | "decline" | "cancel", content: unknown = null): unknown {
  return { action, content, _meta: null };
}

const SCHEMA = {
  type: "object",
  properties: {
    remember: {
      type: "string",
      title: "Allow it",
      description: "This call only, or every call of this tool until the thread is closed.",
      enum: ["once", "session"],
      enumNames: ["Allow once", "Allow for this session"],
      default: "once",
    },
  },
};

/** Codex asks whether a tool of an MCP server may be called, in the form of a question from that server. */
const toolQuestion: QuestionKind = {
  read(params) {
    const args = asFields(asFields(params["_meta"])["tool_params"]);
    const given = Object.keys(args).length === 0 ? "" : ` Arguments: ${JSON.stringify(args)}`;
    return {
      kind: "ask",
      subject: {
        kind: "form",
        callId: "",
        ...NEEDS_PERSON,
        server: asText(params["serverName"]),
        message: `${asText(params["message"])}${given}`,
        requestedSchema: SCHEMA,
      },
    };
  },
  answer(decision) {
    const action = actionOf(decision);
    return { action, content: action === "accept" ? {} : null, _meta: isForSession(decision) ? { persist: "session" } : null };
  },
};

function asksAboutTool(params: Fields): boolean {
  return asFields(params["_meta"])["codex_approval_kind"] === "mcp_tool_call";
}

function actionOf({ kind }: ApprovalDecision): "accept" | "decline" | "cancel" {
  switch (kind) {
    case "approved":
    case "approvedForSession":
    case "answered":
      return "accept";
    case "abort":
      return "cancel";
    case "approvedPrefix":
    case "denied":
      return "decline";
  }
}

/** Codex also offers to remember the decision permanently in config.toml; only the user should write there. */
function isForSession(decision: ApprovalDecision): boolean {
  return decision.kind === "approvedForSession" || (decision.kind === "answered" && decision.content["remember"] === "session");
}

/** The agent asks its user a question. Without an answer it continues by its own judgement. */
const userQuestion: QuestionKind = {
  read(params, { settings }) {
    const questions = questionsOf(params);
    if (questions.length === 0 || settings.approvalPolicy === "never") return { kind: "answer", result: { answers: {} } };
    // A form shows what is typed, and clients may store it.
    if (questions.some((question) => question["isSecret"] === true)) return { kind: "refuse", message: "forms cannot ask for secrets" };
    return {
      kind: "ask",
      subject: {
        kind: "form",
        callId: asText(params["itemId"]),
        ...NEEDS_PERSON,
        server: "codex",
        message: questions.map((question) => asText(question["question"])).join("\n"),
        requestedSchema: {
          type: "object",
          properties: Object.fromEntries(questions.map((question) => [asText(question["id"]), property(question)])),
        },
      },
    };
  },
  answer(decision, params) {
    const content = decision.kind === "answered" ? decision.content : {};
    const answered = questionsOf(params)
      .map((question) => asText(question["id"]))
      .flatMap((id) => {
        const answers = answersOf(content[id]);
        return answers.length === 0 ? [] : [[id, { answers }]];
      });
    return { answers: Object.fromEntries(answered) };
  },
};

function questionsOf(params: Fields): Fields[] {
  return asList(params["questions"])
    .map(asFields)
    .filter((question) => nonEmptyText(question["id"]) !== undefined);
}

/** Where other answers than the listed ones are allowed, the list is only described. */
function property(question: Fields): Fields {
  const options = asList(question["options"]).map(asFields);
  const offers = options.map((option) => `${asText(option["label"])}: ${asText(option["description"])}`);
  const isClosed = options.length > 0 && question["isOther"] !== true;
  return {
    type: "string",
    title: nonEmptyText(question["header"]) ?? asText(question["id"]),
    description: [asText(question["question"]), ...offers].join("\n"),
    ...(isClosed ? { enum: options.map((option) => asText(option["label"])) } : {}),
  };
}

function answersOf(value: unknown): string[] {
  const said = nonEmptyText(value);
  return said === undefined ? asTexts(value) : [said];
}

interface Refused {
  readonly refused: string;
}

const OLD = { refused: "only threads of the older protocol ask this way" };

/** Every request of app-server 0.169.0: the question it becomes, or the reason for refusing it. */
export const SERVER_REQUESTS: ReadonlyMap<string, QuestionKind | Refused> = new Map<string, QuestionKind | Refused>([
  ["item/commandExecution/requestApproval", commandQuestion],
  ["item/fileChange/requestApproval", patchQuestion],
  ["item/permissions/requestApproval", permissionQuestion],
  ["item/tool/requestUserInput", userQuestion],
  ["mcpServer/elicitation/request", mcpQuestion],
  ["item/tool/call", { refused: "no tools were declared to the model" }],
  ["account/chatgptAuthTokens/refresh", { refused: "the login is Codex's own" }],
  ["attestation/generate", { refused: "attestation was not offered" }],
  ["currentTime/read", { refused: "a clock was not offered" }],
  ["applyPatchApproval", OLD],
  ["execCommandApproval", OLD],
]);

/** The meaning of an app-server request for the followers of the turn. */
export function serverRequest(method: string, params: unknown, context: QuestionContext): ServerReaction {
  const known = SERVER_REQUESTS.get(method);
  if (known === undefined) return { kind: "refuse", message: `${method} is unknown here` };
  return "refused" in known ? { kind: "refuse", message: known.refused } : saidBy(context.asker, known.read(asFields(params), context));
}

/** Adds the name of the asking agent to the question. */
function saidBy(asker: string | undefined, reaction: ServerReaction): ServerReaction {
  if (asker === undefined || reaction.kind !== "ask") return reaction;
  const { reason } = reaction.subject;
  const by = `asked by the agent ${asker}`;
  return { ...reaction, subject: { ...reaction.subject, reason: reason === undefined ? by : `${by}: ${reason}` } };
}

/** The response that tells the app-server how its question was decided. */
export function approvalAnswer(method: string, params: unknown, decision: ApprovalDecision): unknown {
  const known = SERVER_REQUESTS.get(method);
  if (known === undefined || "refused" in known) throw new Error(`${method} is not a question`);
  return known.answer(decision, asFields(params));
}
