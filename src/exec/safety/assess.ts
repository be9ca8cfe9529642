import type { ApprovalPolicy, SandboxPolicy } from "../policies.js";
import type { BashReader } from "./bashReader.js";
import { type ExaminedCommand, examine, type Findings, rulesAgainst } from "./findings.js";
import type { PrefixRule } from "./prefixRule.js";
import type { RuleMatch } from "./rules.js";
import { shellQuote } from "./shellQuote.js";

/** A command the model wants to run, and everything that has a say in it. */
export interface ProposedCommand {
  readonly argv: readonly string[];
  /** The model asks to run it outside the sandbox. */
  readonly escalated: boolean;
  /** Why, in the model's words. */
  readonly justification?: string;
  /** The tool that was called; the wording of one refusal depends on it. */
  readonly tool?: string;
  readonly approvalPolicy: ApprovalPolicy;
  readonly sandboxPolicy: SandboxPolicy;
  /** Those in force on the thread. */
  readonly rules: readonly PrefixRule[];
  /** A sandbox was tried on this machine and holds. */
  readonly sandboxEnforced: boolean;
  /** Rules may let it run without a question, but not outside the sandbox. */
  readonly confined?: boolean;
  readonly parser: BashReader;
  /** Set where it would run outside any sandbox: whether a name leads to a program that nobody can have planted. */
  readonly trusts?: ((name: string) => boolean) | undefined;
}

export type Verdict =
  /** `proposedPrefix` is for the question after a sandbox denial. */
  | { readonly kind: "run"; readonly sandboxed: boolean; readonly proposedPrefix?: readonly string[] }
  | {
      readonly kind: "ask";
      readonly reason?: string;
      /** Commands that begin like this could be allowed for the rest of the thread. */
      readonly proposedPrefix?: readonly string[];
      readonly sandboxedAfterwards: boolean;
      /** Judged dangerous, or a rule says to ask: no strategy may answer in a person's place. */
      readonly needsPerson: boolean;
    }
  | { readonly kind: "refuse"; readonly text: string };

const POLICY_NAMES: Readonly<Record<ApprovalPolicy, string>> = {
  never: "Never",
  "on-failure": "OnFailure",
  "on-request": "OnRequest",
  untrusted: "UnlessTrusted",
};

const UNRESTRICTED = "no sandbox works on this machine: the command could change any file and use the network";

/** Whether a command runs, has to be asked for, or is refused. Stricter than Codex 0.92.0 where `findings.ts` says so. */
export function assessCommand(command: ProposedCommand): Verdict {
  const { approvalPolicy, escalated } = command;
  if (escalated && approvalPolicy !== "on-request") return refuse(escalationRefusal(command));
  const findings = examine(command);
  const { forbidden, prompt } = findings;
  const never = approvalPolicy === "never";
  if (forbidden) return refuse(ruleRefusal(command, forbidden));
  if (findings.dangerous && never) return refuse(`\`${shellQuote(command.argv)}\` rejected: blocked by policy`);
  if (prompt && never) return refuse("approval required by policy, but AskForApproval is set to Never");
  if (prompt) return ask(command, { reason: ruleReason(command, prompt), needsPerson: true });
  if (findings.dangerous) return ask(command, { needsPerson: true });
  if (findings.allowedByRules && !(command.confined && isRestricted(command))) return { kind: "run", sandboxed: false };
  return byPolicy(command, findings);
}

/** What is said about a command that the user's rules forbid; undefined when they do not. */
export function forbiddenRefusal(command: ExaminedCommand): string | undefined {
  const match = rulesAgainst(command, "forbidden");
  return match && ruleRefusal(command, match);
}

function byPolicy(command: ProposedCommand, findings: Findings): Verdict {
  const { approvalPolicy, escalated } = command;
  const { proposedPrefix } = findings;
  const restricted = isRestricted(command);
  if (restricted && !command.sandboxEnforced)
    return approvalPolicy === "never" ? refuse(noSandboxRefusal()) : ask(command, { proposedPrefix, needsPerson: false });
  if ((approvalPolicy === "untrusted" && !findings.safe) || (escalated && restricted))
    return ask(command, { proposedPrefix, needsPerson: false });
  return { kind: "run", sandboxed: restricted, ...(proposedPrefix && { proposedPrefix }) };
}

function isRestricted({ sandboxPolicy }: ProposedCommand): boolean {
  return sandboxPolicy.type !== "danger-full-access";
}

interface Question {
  readonly reason?: string;
  readonly proposedPrefix?: readonly string[] | undefined;
  readonly needsPerson: boolean;
}

function ask(command: ProposedCommand, { reason = command.justification, proposedPrefix, needsPerson }: Question): Verdict {
  const restricted = isRestricted(command);
  const unprotected = restricted && !command.sandboxEnforced;
  const why = [reason, unprotected && UNRESTRICTED].filter(Boolean).join("; ");
  return {
    kind: "ask",
    ...(why !== "" && { reason: why }),
    ...(proposedPrefix && { proposedPrefix }),
    sandboxedAfterwards: restricted && !unprotected && !command.escalated,
    needsPerson,
  };
}

function refuse(text: string): Verdict {
  return { kind: "refuse", text };
}

function escalationRefusal({ approvalPolicy, tool }: ProposedCommand): string {
  const policy = POLICY_NAMES[approvalPolicy];
  const verb = tool === "exec_command" ? "cannot" : "should not";
  return `approval policy is ${policy}; reject command — you ${verb} ask for escalated permissions if the approval policy is ${policy}`;
}

function noSandboxRefusal(): string {
  return "command rejected: no sandbox works on this machine and the approval policy is Never, so no command may run. Files can still be changed with apply_patch.";
}

function ruleRefusal({ argv }: Pick<ProposedCommand, "argv">, { justification, prefix }: RuleMatch): string {
  return `\`${shellQuote(argv)}\` rejected: ${justification ?? `policy forbids commands starting with \`${shellQuote(prefix)}\``}`;
}

function ruleReason({ argv }: ProposedCommand, { justification }: RuleMatch): string {
  return `\`${shellQuote(argv)}\` requires approval${justification === undefined ? " by policy" : `: ${justification}`}`;
}
