import type { FileChanges, ParsedCommand } from "../exec/actions.js";
import type { ThreadId, TurnId } from "../lib/ids.js";

export type ApprovalId = string & { readonly brand: "ApprovalId" };

/** What approval is asked for. */
export type ApprovalSubject = {
  readonly callId: string;
  /** Why approval is needed, as the model or the policy states it. */
  readonly reason?: string;
  /** If allowed, it still runs inside a sandbox that is really enforced. */
  readonly staysInSandbox: boolean;
  /** No sandbox works on this machine, so the action cannot run inside one. */
  readonly lacksSandbox?: true;
  /** Only a person may allow it, because it was judged dangerous or a rule says to ask. */
  readonly needsPerson: boolean;
  /** Approval lets commands do more than their sandbox allows, whatever the question looks like. */
  readonly widensSandbox?: true;
} & (
  | {
      readonly kind: "command";
      readonly command: readonly string[];
      /** The same command as shell text. */
      readonly commandText: string;
      readonly cwd: string;
      readonly parsed: readonly ParsedCommand[];
      /** The user may allow all commands with this prefix for the rest of the thread. */
      readonly proposedPrefix?: readonly string[];
    }
  | {
      readonly kind: "patch";
      readonly changes: FileChanges;
      /** Approval also lets the agent write anywhere below this folder for the rest of the session. */
      readonly grantRoot?: string;
      /** It only changes files that `workspace-write` may write, whatever the thread's own sandbox is. */
      readonly staysInWorkspace?: boolean;
      /** The paths in `changes` that lie outside the thread's folder, each with its real path. */
      readonly outside?: Readonly<Record<string, string>>;
    }
  /** One of the agent's MCP servers asks for a form to be filled in. */
  | {
      readonly kind: "form";
      readonly server: string;
      readonly message: string;
      readonly requestedSchema: Readonly<Record<string, unknown>>;
    }
);

export interface ApprovalRequest {
  readonly id: ApprovalId;
  readonly threadId: ThreadId;
  readonly turnId: TurnId;
  readonly subject: ApprovalSubject;
  /** Denied if unanswered by then; milliseconds since 1970. */
  readonly deadline: number;
}

/**
 * Where a decision came from: the client's user (`elicitation`), the client itself without asking anyone (`client`), the rule for clients
 * that cannot answer (`fallback`), the caller's access limits (`ceiling`), the timeout (`deadline`), the asker (`withdrawal`), or another
 * channel: a tool, the HTTP API or the browser console.
 */
export type DecidedBy = "elicitation" | "client" | "fallback" | "ceiling" | "deadline" | "withdrawal" | "tool" | "http" | "console";

export type ApprovalDecision = {
  readonly by?: DecidedBy;
  /** The principal who answered; absent where no one did, and for the server's own user. */
  readonly who?: string;
} & (
  | { readonly kind: "approved" }
  | { readonly kind: "approvedForSession" }
  /** Commands that begin with these words are allowed for the rest of the thread. */
  | { readonly kind: "approvedPrefix"; readonly prefix: readonly string[] }
  /**
   * Not a refusal by a person if `failed` (the response was an error or unreadable) or `dismissed` (the question was closed without an
   * answer).
   */
  | { readonly kind: "denied"; readonly reason?: string; readonly failed?: true; readonly dismissed?: true }
  /** A form was filled in. */
  | { readonly kind: "answered"; readonly content: Readonly<Record<string, unknown>> }
  /** Denied, and the turn must end. */
  | { readonly kind: "abort" }
);
