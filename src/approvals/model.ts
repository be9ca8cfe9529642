import type { FileChanges, ParsedCommand } from "../exec/actions.js";
import type { ThreadId, TurnId } from "../lib/ids.js";

export type ApprovalId = string & { readonly brand: "ApprovalId" };

/** What somebody is asked to allow. */
export type ApprovalSubject = {
  readonly callId: string;
  /** Why it is asked, in the model's or the policy's words. */
  readonly reason?: string;
  /** If allowed, it still runs inside a sandbox that is really enforced. */
  readonly staysInSandbox: boolean;
  /** Never to be allowed without a person: judged dangerous, or a rule says to ask. */
  readonly needsPerson: boolean;
  /** A yes takes commands further than their sandbox does, whatever the question looks like. */
  readonly widensSandbox?: true;
} & (
  | {
      readonly kind: "command";
      readonly command: readonly string[];
      /** The same, as one would type it into a shell. */
      readonly commandText: string;
      readonly cwd: string;
      readonly parsed: readonly ParsedCommand[];
      /** Commands that begin like this could be allowed for the rest of the thread. */
      readonly proposedPrefix?: readonly string[];
    }
  | {
      readonly kind: "patch";
      readonly changes: FileChanges;
      /** A yes also lets the agent write anywhere below this folder for the rest of the session. */
      readonly grantRoot?: string;
      /** Nothing is changed but files that `workspace-write` opens, whatever the thread's own sandbox is. */
      readonly staysInWorkspace?: boolean;
      /** Those of `changes` that lie outside the thread's folder, and where they really lead. */
      readonly outside?: Readonly<Record<string, string>>;
    }
  /** One of the agent's MCP servers wants something filled in. */
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
  /** When nobody has answered by then, it is denied; milliseconds since 1970. */
  readonly deadline: number;
}

/**
 * By which way a decision came: the client was asked, the client answered by itself and asked nobody, the rule for clients that cannot be asked,
 * what the caller may allow at all, nobody in time, the asker took it back, or another door: a tool, the HTTP API, the console in a browser.
 */
export type DecidedBy = "elicitation" | "client" | "fallback" | "ceiling" | "deadline" | "withdrawal" | "tool" | "http" | "console";

export type ApprovalDecision = {
  readonly by?: DecidedBy;
  /** Whoever answered, by the name that access control knows; absent where nobody did, and for the server's own user. */
  readonly who?: string;
} & (
  | { readonly kind: "approved" }
  | { readonly kind: "approvedForSession" }
  /** Commands that begin with these words are allowed for the rest of the thread. */
  | { readonly kind: "approvedPrefix"; readonly prefix: readonly string[] }
  /** Nobody said no when it is `failed`, since the answer was an error or could not be read, or `dismissed`, since the question was closed without one. */
  | { readonly kind: "denied"; readonly reason?: string; readonly failed?: true; readonly dismissed?: true }
  /** A form was filled in. */
  | { readonly kind: "answered"; readonly content: Readonly<Record<string, unknown>> }
  /** Denied, and the turn is to end. */
  | { readonly kind: "abort" }
);
