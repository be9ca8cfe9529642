import { contentOfClient, fieldLines } from "../../approvals/forms.js";
import type { ApprovalDecision, ApprovalRequest, ApprovalSubject } from "../../approvals/model.js";
import type { RequestId } from "../../jsonrpc/message.js";
import { type Fields, isFields } from "../../lib/fields.js";
import { visible, visibleLines } from "../../lib/visibleText.js";
import type { ResultStyle } from "./callResult.js";

export interface FormOptions {
  /** Without fields, as Codex sent it. */
  readonly emptyForm?: boolean;
  /** If there is no field to describe it, the message says why approval is needed and what it permits. */
  readonly explains?: boolean;
  /** The message is the sentence that Codex sends; the form and the parameters still say what is asked about. */
  readonly recordedMessage?: boolean;
}

/**
 * An approval as `elicitation/create` parameters: Codex's own fields, a form that any client can show, and a copy under `_meta`, which SDK
 * clients keep.
 */
export function elicitationParams(
  { threadId, turnId, subject, deadline }: ApprovalRequest,
  requestId: RequestId,
  { emptyForm = false, explains = false, recordedMessage = false }: FormOptions = {},
): Fields {
  const codex = {
    codex_mcp_tool_call_id: String(requestId),
    codex_event_id: turnId,
    codex_call_id: subject.callId,
  };
  const about = subjectParams(subject);
  const message = messageOf(subject, { listsFiles: !recordedMessage });
  return {
    message: emptyForm && explains ? `${message}${inMessage(subject)}` : message,
    requestedSchema: subject.kind === "form" ? visibleSchema(subject.requestedSchema) : emptyForm ? EMPTY_FORM : decisionForm(subject),
    threadId,
    codex_elicitation: KINDS[subject.kind],
    ...codex,
    ...about,
    _meta: {
      "codex-mcpd/approval": {
        threadId,
        kind: subject.kind,
        reason: subject.reason ?? null,
        staysInSandbox: subject.staysInSandbox,
        deadline,
        ...codex,
        ...about,
      },
    },
  };
}

/** A longer question in a result would not be read. */
const LONGEST_QUESTION = 4_000;

/**
 * The whole question as text, for clients without forms: nobody should approve a command after seeing only its beginning, or fill in a form
 * without its fields.
 */
export function questionText(subject: ApprovalSubject): string {
  const fields = subject.kind === "form" ? fieldLines(subject.requestedSchema) : [];
  const text = [`${messageOf(subject)}${inMessage(subject)}`, ...fields].join("\n");
  if (text.length <= LONGEST_QUESTION) return text;
  const half = LONGEST_QUESTION / 2;
  return `${text.slice(0, half)}\n[… ${text.length - LONGEST_QUESTION} characters of this question are left out here …]\n${text.slice(-half)}`;
}

const EMPTY_FORM = { properties: {}, type: "object" };

/** The reason and the files of a patch come before the question. */
function inMessage(subject: ApprovalSubject): string {
  switch (subject.kind) {
    case "command":
      return `\n${explanation(subject)}`;
    case "patch":
      return `\n${reachOf(subject)}`;
    case "form":
      return "";
  }
}

const KINDS = { command: "exec-approval", patch: "patch-approval", form: "mcp-elicitation" } as const;

function messageOf(subject: ApprovalSubject, { listsFiles = true }: { readonly listsFiles?: boolean } = {}): string {
  switch (subject.kind) {
    case "command":
      return `Allow Codex to run \`${visibleLines(subject.commandText)}\` in \`${visible(subject.cwd)}\`?`;
    case "patch":
      return [
        ...patchPreface(subject),
        ["Allow Codex to apply proposed code changes?", ...(listsFiles ? shortList(changedFiles(subject)) : [])].join("\n- "),
      ].join("\n");
    case "form":
      return `${visible(subject.server)}: ${visibleLines(subject.message)}`;
  }
}

type PatchSubject = Extract<ApprovalSubject, { kind: "patch" }>;

/** Before the question, as in Codex: the reason, and what approval permits beyond the changes. */
function patchPreface(subject: PatchSubject): string[] {
  return [...(subject.reason === undefined ? [] : [visible(subject.reason)]), ...grantOf(subject)];
}

function grantOf({ grantRoot }: PatchSubject): string[] {
  return grantRoot === undefined
    ? []
    : [`A yes also lets Codex write anywhere below \`${visible(grantRoot)}\` for the rest of the session.`];
}

const LONGEST_LIST = 20;

function shortList(entries: readonly string[]): string[] {
  const more = entries.length - LONGEST_LIST;
  return more > 0 ? [...entries.slice(0, LONGEST_LIST), `and ${more} more`] : [...entries];
}

function changedFiles({ changes, outside = {} }: PatchSubject): string[] {
  return Object.entries(changes).map(([file, change]) => {
    const target = change.type === "update" ? change.move_path : null;
    const places = [file, ...(target === null ? [] : [target])].map((place) => {
      const real = outside[place];
      if (real === undefined) return visible(place);
      return `${visible(place)} (outside the workspace${real === place ? "" : `: ${visible(real)}`})`;
    });
    return `${target === null ? change.type : "move"} ${places.join(" to ")}`;
  });
}

/** Titles and descriptions are for people and are made safe to show. Names and values go back to the server unchanged. */
function visibleSchema(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(visibleSchema);
  if (!isFields(schema)) return schema;
  return Object.fromEntries(Object.entries(schema).map(([key, value]) => [key, visiblePart(key, value)]));
}

function visiblePart(key: string, value: unknown): unknown {
  if (["const", "enum", "default", "pattern", "required"].includes(key) && !isFields(value)) return value;
  if (["title", "description"].includes(key) && typeof value === "string") return visibleLines(value);
  if (key === "enumNames" && Array.isArray(value)) return value.map((name: unknown) => (typeof name === "string" ? visible(name) : name));
  return visibleSchema(value);
}

function subjectParams(subject: ApprovalSubject): Record<string, unknown> {
  switch (subject.kind) {
    case "command":
      return { codex_command: subject.command, codex_cwd: subject.cwd, codex_parsed_cmd: subject.parsed };
    case "patch":
      return {
        ...(subject.reason === undefined ? {} : { codex_reason: subject.reason }),
        ...(subject.grantRoot === undefined ? {} : { codex_grant_root: subject.grantRoot }),
        codex_changes: subject.changes,
      };
    case "form":
      return { codex_mcp_server: subject.server };
  }
}

/** The form that a person fills in. The description contains what the recorded message omits: reason, permissions, files. */
function decisionForm(subject: Exclude<ApprovalSubject, { kind: "form" }>): unknown {
  return {
    type: "object",
    properties: {
      decision: {
        type: "string",
        title: "Decision",
        description: explanation(subject),
        // All revisions know titles in this format. Older clients refuse a question with the newer one of 2025-11-25.
        enum: ["approved", "approved_for_session", "denied", "abort"],
        enumNames: ["Allow once", "Allow for this session", "Deny", "Deny and stop the agent"],
      },
      reason: { type: "string", title: "Reason", description: "If denied: what the agent should know." },
    },
    required: ["decision"],
  };
}

function explanation(subject: Exclude<ApprovalSubject, { kind: "form" }>): string {
  const reason = subject.reason === undefined ? "" : `Reason: ${visible(subject.reason)}. `;
  const reach = reachOf(subject);
  if (subject.kind === "command") return `${reason}${reach}`;
  const grant = grantOf(subject).map((sentence) => `${sentence} `);
  return `${reason}${grant.join("")}${reach} Files: ${shortList(changedFiles(subject)).join(", ")}.`;
}

function reachOf({ staysInSandbox, lacksSandbox }: ApprovalSubject): string {
  if (lacksSandbox) return "It runs without a sandbox.";
  return staysInSandbox ? "It runs inside the sandbox." : "It is not confined by the sandbox.";
}

const WORDS: ReadonlyMap<string, ApprovalDecision> = new Map([
  ["approved", { kind: "approved" }],
  ["approve", { kind: "approved" }],
  ["allow", { kind: "approved" }],
  ["allowed", { kind: "approved" }],
  ["accept", { kind: "approved" }],
  ["approved_for_session", { kind: "approvedForSession" }],
  ["denied", { kind: "denied" }],
  ["deny", { kind: "denied" }],
  ["reject", { kind: "denied" }],
  ["decline", { kind: "denied" }],
  ["abort", { kind: "abort" }],
  ["cancel", { kind: "denied", dismissed: true }],
]);

/** No person reads and answers a question in less time. */
const READING_MS = 250;

/**
 * Whether a client answered without asking a person. Headless programs and policies decline or cancel at once and add nothing. A person is
 * slower, or adds content.
 */
export function isAnsweredByItself(answer: unknown, afterMs: number): boolean {
  if (afterMs >= READING_MS || !isFields(answer) || "decision" in answer) return false;
  const { action, content } = answer;
  const isBare = !isFields(content) || Object.keys(content).length === 0;
  return isBare && (action === "decline" || action === "cancel");
}

/**
 * A client's answer → a decision. A top-level `decision` (Codex's form) wins; `content.decision` counts only with an accepting action or
 * none; then the action alone. An unreadable answer becomes a denial that says so; in the recorded style, an ordinary denial. Closing a
 * question without an answer ends no turn: clients do it by themselves, and all work of the turn would be lost.
 */
export function readDecision(answer: unknown, subject: AnsweredSubject, style: ResultStyle = "extended"): ApprovalDecision {
  if (subject.kind === "form") return readForm(answer, style === "recorded" ? {} : subject.requestedSchema);
  const decision = readAnswer(answer, style);
  if (decision.kind !== "denied" || !(decision.dismissed || decision.failed)) return decision;
  if (style === "recorded") return { kind: "denied" };
  return decision.dismissed ? NOBODY_ANSWERED : decision;
}

type AnsweredSubject = { readonly kind: "form"; readonly requestedSchema: Fields } | { readonly kind: "command" | "patch" };

const NOBODY_ANSWERED: ApprovalDecision = { kind: "denied", dismissed: true, reason: "nobody answered" };

function readAnswer(answer: unknown, style: ResultStyle): ApprovalDecision {
  if (style === "recorded" && isFields(answer) && isMisspelt(answer["decision"])) return unreadable();
  // Codex also reads an answer whose only field has no name.
  if (Array.isArray(answer) && answer.length === 1) return decisionOf(answer[0]);
  if (!isFields(answer)) return unreadable();
  if ("decision" in answer) return withReason(decisionOf(answer["decision"]), answer);
  const { action, content } = answer;
  const accepted = action === undefined || action === "accept";
  if (accepted && isFields(content) && "decision" in content) return withReason(decisionOf(content["decision"]), content);
  if (typeof action === "string") return withReason(decisionOf(action), isFields(content) ? content : {});
  return unreadable();
}

/** Codex accepts a decision only in the exact spelling that it uses itself. */
function isMisspelt(decision: unknown): boolean {
  return typeof decision === "string" && !RECORDED_WORDS.has(decision);
}

/** The decisions that Codex knows, and `accept`, which SDK clients send in place of `approved`. */
const RECORDED_WORDS = new Set(["approved", "approved_for_session", "denied", "abort", "accept"]);

/** Only MCP's own answer format is accepted: the question is from another server. Nobody would correct content that does not fit its form. */
function readForm(answer: unknown, schema: Fields): ApprovalDecision {
  const { action, content } = isFields(answer) ? answer : {};
  if (action === "accept") {
    const form = contentOfClient(isFields(content) ? content : {}, schema);
    if ("content" in form) return { kind: "answered", content: form.content };
    return { kind: "denied", reason: `the client's answer does not fit the form: ${form.complaint}`, failed: true };
  }
  if (action === "cancel") return NOBODY_ANSWERED;
  return action === "decline" ? { kind: "denied" } : unreadable();
}

function decisionOf(value: unknown): ApprovalDecision {
  if (typeof value === "string") return WORDS.get(value.trim().toLowerCase()) ?? unreadable();
  if (!isFields(value)) return unreadable();
  const [only, ...others] = Object.entries(value);
  if (only?.[1] === null && others.length === 0) return WORDS.get(only[0]) ?? unreadable();
  const amendment = value["approved_execpolicy_amendment"];
  const [unnamed] = Array.isArray(amendment) && amendment.length === 1 ? (amendment as unknown[]) : [];
  const prefix = isFields(amendment) ? amendment["proposed_execpolicy_amendment"] : unnamed;
  // Without a prefix it approves only this command.
  if (Array.isArray(prefix) && prefix.every((word) => typeof word === "string"))
    return prefix.length > 0 ? { kind: "approvedPrefix", prefix } : { kind: "approved" };
  const denial = value["denied"];
  if (isFields(denial))
    return typeof denial["rejection"] === "string" ? { kind: "denied", reason: denial["rejection"] } : { kind: "denied" };
  return unreadable();
}

function withReason(decision: ApprovalDecision, fields: Readonly<Record<string, unknown>>): ApprovalDecision {
  const reason = fields["reason"];
  if (decision.kind !== "denied" || decision.reason !== undefined || typeof reason !== "string" || reason.trim() === "") return decision;
  return { kind: "denied", reason: reason.trim() };
}

function unreadable(): ApprovalDecision {
  return { kind: "denied", reason: "the client's answer could not be read", failed: true };
}
