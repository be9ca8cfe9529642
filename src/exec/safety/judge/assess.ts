import { AppError } from "../../../lib/errors.js";
import type { ApprovalPolicy, SandboxPolicy } from "../../policies.js";
import { commandsWithin, partsOf } from "../bash/commandsWithin.js";
import { type BashReader, openBashReader } from "../bash/reader.js";
import { programName, shellQuote } from "../bash/words.js";
import type { PrefixRule } from "../rules/ruleFile.js";
import { loadRules, matchRules, type RuleMatch, strictest } from "../rules/rules.js";
import { hidesItsScript, isDangerous, isSafePart } from "./effects.js";

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
  /** Set for commands outside any sandbox: whether a name leads to a program that no command can have planted. */
  readonly trusts?: ((name: string) => boolean) | undefined;
}

export type CommandVerdict =
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
  /** `unannounced`: the call itself is at fault, so that no command begins. */
  | { readonly kind: "refuse"; readonly text: string; readonly unannounced?: true };

const POLICY_NAMES: Readonly<Record<ApprovalPolicy, string>> = {
  never: "Never",
  "on-failure": "OnFailure",
  "on-request": "OnRequest",
  untrusted: "UnlessTrusted",
};

const UNRESTRICTED = "no sandbox works on this machine: the command could change any file and use the network";

/** Whether a command runs, has to be asked for, or is refused. Stricter than Codex 0.92.0 where `examine` says so. */
export function assessCommand(command: ProposedCommand): CommandVerdict {
  const { approvalPolicy, escalated } = command;
  if (escalated && approvalPolicy !== "on-request") return { ...refuse(escalationRefusal(command)), unannounced: true };
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

/** The refusal of a command that the user's rules forbid; undefined when none does. */
export function forbiddenRefusal(command: ExaminedCommand): string | undefined {
  const match = rulesAgainst(command, "forbidden");
  return match && ruleRefusal(command, match);
}

function byPolicy(command: ProposedCommand, findings: Findings): CommandVerdict {
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

function ask(command: ProposedCommand, { reason = command.justification, proposedPrefix, needsPerson }: Question): CommandVerdict {
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

function refuse(text: string): Extract<CommandVerdict, { kind: "refuse" }> {
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

interface ExaminedCommand {
  readonly argv: readonly string[];
  readonly rules: readonly PrefixRule[];
  readonly parser: BashReader;
  /** Set for commands outside any sandbox: whether a name leads to a program that no command can have planted. */
  readonly trusts?: ((name: string) => boolean) | undefined;
}

/** What is known of a command before any policy is applied. */
interface Findings {
  /** The strictest rule of each kind against it. */
  readonly forbidden?: RuleMatch;
  readonly prompt?: RuleMatch;
  readonly dangerous: boolean;
  /** Rules let it run outside the sandbox. */
  readonly allowedByRules: boolean;
  /** Each part only looks, or is allowed by a rule. */
  readonly safe: boolean;
  /** The part an approver could allow for good. */
  readonly proposedPrefix?: readonly string[];
}

/** Commands without an effect of their own, which may accompany an allowed one: `cd dir && allowed`. */
const INERT = new Set(["cd", "echo", "false", "pwd", "true"]);

/**
 * Stricter than Codex 0.92.0:
 *
 * | case | Codex | here |
 * |---|---|---|
 * | one part of a sequence is allowed by a rule | all of it leaves the sandbox | only if every part is allowed, or is `cd`, `echo`, `pwd`, `true`, `false` |
 * | a forbidden or prompt rule and `/bin/rm`, `sudo rm`, `rm x > y`, `(rm x)` | not seen | seen |
 * | a known-safe command that asks to leave the sandbox | leaves it unasked | asked |
 * | a dangerous command | "always allow" is offered | not offered |
 */
function examine({ argv, rules, parser, trusts }: ExaminedCommand): Findings {
  const decisionFor = (words: readonly string[]) => matchRules(rules, words)?.decision;
  const parts = partsOf(argv, parser).map((part) => ({ ...part, safe: isSafePart(part, { trusts }), rule: decisionFor(part.words) }));
  const forbidden = rulesAgainst({ argv, rules, parser }, "forbidden");
  const prompt = rulesAgainst({ argv, rules, parser }, "prompt");
  const [shell = ""] = argv;
  // A name that leads to a planted shell leads anywhere.
  const shellIsTrusted = !trusts || shell.includes("/") || parts.some(({ words }) => words === argv) || trusts(shell);
  const unmatched = parts.filter((part) => part.rule === undefined);
  const proposedPrefix = (unmatched.find((part) => !part.safe) ?? unmatched[0])?.words;
  return {
    ...(forbidden && { forbidden }),
    ...(prompt && { prompt }),
    dangerous: isDangerous(argv, parser, (words) => decisionFor(words) === "allow"),
    allowedByRules: parts.some((part) => part.rule === "allow") && unmatched.every((part) => INERT.has(part.words[0] ?? "")),
    safe: shellIsTrusted && parts.every((part) => part.safe || part.rule === "allow"),
    ...(proposedPrefix && { proposedPrefix }),
  };
}

/**
 * The strictest rule of a kind about the command or any command that it would run. A rule against a program holds by whatever path the
 * program is called; a rule in its favour only as it is written.
 */
function rulesAgainst({ argv, rules, parser }: ExaminedCommand, decision: "forbidden" | "prompt"): RuleMatch | undefined {
  const about = rules.filter((rule) => rule.decision === decision);
  if (about.length === 0) return undefined;
  const matches = [...commandsWithin(argv, parser)].flatMap((words) => {
    const [program = "", ...args] = words;
    return [matchRules(about, words), matchRules(about, [programName(program), ...args])];
  });
  return strictest(matches.filter((match) => match !== undefined));
}

/** One of the user's rules forbids the command, whatever else would allow it. */
class CommandForbidden extends AppError {
  readonly code = "command_forbidden";
}

/** For a command that no one approves. Throws `CommandForbidden`, also when its script cannot be read while rules forbid commands. */
export async function checkForbidden(argv: readonly string[], { codexHome }: { readonly codexHome: string }): Promise<void> {
  const { rules } = loadRules(codexHome);
  if (!rules.some(({ decision }) => decision === "forbidden")) return;
  const parser = await openBashReader(argv);
  const refusal = forbiddenRefusal({ argv, rules, parser });
  if (refusal !== undefined) throw new CommandForbidden(refusal);
  if (hidesItsScript(argv, parser))
    throw new CommandForbidden(
      "The command is rejected: rules forbid some commands, and its script cannot be read to see whether it runs one.",
    );
}

export interface EndedCommand {
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
  readonly aggregated: string;
}

const DENIAL_WORDS = /operation not permitted|permission denied|read-only file system|seccomp|sandbox|landlock|failed to write file/i;

/** Exit codes of failures that are the command's own: misuse, not executable, not found. */
const OWN_FAILURES = new Set([2, 126, 127]);

const SIGSYS_EXIT = 128 + 31;

/** The reason in the question whether a command that the sandbox stopped may run again outside. */
export const RETRY_REASON = "command failed; retry without sandbox?";

/** Whether a sandboxed command seems to have failed because of the sandbox. A guess by its output: the kernel does not say. */
export function isSandboxDenial(
  { exitCode, stdout, stderr, aggregated }: EndedCommand,
  platform: NodeJS.Platform = process.platform,
): boolean {
  if (exitCode === 0) return false;
  if ([stderr, stdout, aggregated].some((text) => DENIAL_WORDS.test(text))) return true;
  return !OWN_FAILURES.has(exitCode) && platform === "linux" && exitCode === SIGSYS_EXIT;
}

/** After a denial: ask for a run outside the sandbox, or report the failure to the model. */
export function retryAfterDenial(policy: ApprovalPolicy): "ask" | "report" {
  return policy === "on-failure" || policy === "untrusted" ? "ask" : "report";
}
