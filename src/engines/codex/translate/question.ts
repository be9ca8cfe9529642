import type { ApprovalDecision, ApprovalSubject } from "../../../approvals/model.js";
import type { Fields } from "../../../lib/fields.js";
import type { ThreadSettings } from "../../../threads/settings.js";
import type { OpenItems } from "./openItems.js";

/** What a request of the app-server means: a question to somebody, or an answer that is known without asking. */
export type ServerReaction =
  | { readonly kind: "ask"; readonly subject: ApprovalSubject }
  | { readonly kind: "answer"; readonly result: unknown }
  | { readonly kind: "refuse"; readonly message: string };

export interface QuestionContext {
  readonly items: OpenItems;
  readonly settings: ThreadSettings;
}

/** How one kind of request is put to somebody, and how the decision goes back. */
export interface Question {
  read(params: Fields, context: QuestionContext): ServerReaction;
  answer(decision: ApprovalDecision, params: Fields): unknown;
}

/**
 * Nothing the app-server asks about is known to stay in the sandbox: once approved, a command that the sandbox stops may be
 * run again outside it without a further question, also under `untrusted`.
 */
export const LEAVES_SANDBOX = { staysInSandbox: false, needsPerson: false } as const;
export const NEEDS_PERSON = { staysInSandbox: false, needsPerson: true } as const;
