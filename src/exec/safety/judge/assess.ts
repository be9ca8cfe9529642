import { AppError } from "../../../lib/errors.js";
import { NO_SANDBOX } from "../../errors.js";
import type { ApprovalPolicy, SandboxPolicy } from "../../policies.js";
import { commandsWithin, partsOf } from "../bash/commandsWithin.js";
import { type BashReader, openBashReader } from "../bash/reader.js";
import { shellQuote } from "../bash/words.js";
import type { PrefixRule } from "../rules/ruleFile.js";
import { loadRules, matchRules, type RuleMatch, strictest } from "../rules/rules.js";
import { isDangerous, isSafePart, isUnreadable } from "./effects.js";
import { mayRun, spellingsOf } from "./mentions.js";

/** A command the model wants to run, and everything that decides about it. */
export interface ProposedCommand {
  readonly argv: readonly string[];
  /** The model asks to run it outside the sandbox. */
  readonly escalated: boolean;
  /** The model's reason. */
  readonly justification?: string;
  /** The called tool; the wording of one refusal depends on it. */
  readonly tool?: string;
  readonly approvalPolicy: ApprovalPolicy;
  readonly sandboxPolicy: SandboxPolicy;
  /** The rules in force on the thread. */
  readonly rules: readonly PrefixRule[];
  /** A sandbox was probed on this machine and works. */
  readonly sandboxEnforced: boolean;
  /** Rules may let it run without a question, but not outside the sandbox. */
  readonly confined?: boolean;
  /** As Codex 0.92.0 where that is harmless: see the table at `examine`. */
  readonly asRecorded?: boolean;
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
      /** The user may allow all commands with this prefix for the rest of the thread. */
      readonly proposedPrefix?: readonly string[];
      readonly sandboxedAfterwards: boolean;
      /** Classified as dangerous, or a rule requires a question: only a person may answer. */
      readonly needsPerson: boolean;
      /** It would run without the sandbox that its policy wants, since none works here. */
      readonly lacksSandbox?: true;
    }
  /** `unannounced`: the call itself is at fault, so that no command begins. `lacksSandbox`: it would run if a sandbox worked here. */
  | { readonly kind: "refuse"; readonly text: string; readonly unannounced?: true; readonly lacksSandbox?: true };

const POLICY_NAMES: Readonly<Record<ApprovalPolicy, string>> = {
  never: "Never",
  "on-failure": "OnFailure",
  "on-request": "OnRequest",
  untrusted: "UnlessTrusted",
};

const UNRESTRICTED = `without a sandbox, this command could change any file and use the network: ${NO_SANDBOX}`;

/** Decides whether a command runs, needs approval or is refused. Stricter than Codex 0.92.0 in the cases listed at `examine`. */
export function assessCommand(command: ProposedCommand): CommandVerdict {
  const { approvalPolicy, escalated } = command;
  if (escalated && approvalPolicy !== "on-request") return { ...refuse(escalationRefusal(command)), unannounced: true };
  const findings = examine(command);
  const { forbidden, prompt } = findings;
  const never = approvalPolicy === "never";
  if (forbidden) return refuse(ruleRefusal(command, forbidden));
  if (findings.dangerous && never) return refuse(`\`${shellQuote(command.argv)}\` rejected: blocked by policy`);
  if (prompt && never) return refuse("approval required by policy, but AskForApproval is set to Never");
  if (findings.unclear && never) return refuse(`\`${shellQuote(command.argv)}\` rejected: ${UNCLEAR}`);
  if (prompt) return ask(command, { reason: ruleReason(command, prompt), needsPerson: true });
  if (findings.unclear) return ask(command, { reason: UNCLEAR, needsPerson: true });
  if (findings.dangerous)
    return ask(command, { needsPerson: true, proposedPrefix: command.asRecorded ? findings.proposedPrefix : undefined });
  if (findings.allowedByRules && !(command.confined && isRestricted(command))) return { kind: "run", sandboxed: false };
  return byPolicy(command, findings);
}

const UNCLEAR =
  "rules forbid some commands or require a question about them, and this command may contain one of them: a part of it cannot be read, or is a text that another program may run";

/** The refusal of a command that the user's rules forbid, or may forbid because it cannot be read fully; undefined when none does. */
export function forbiddenRefusal(command: ExaminedCommand): string | undefined {
  const { match, unclear } = rulesAgainst(command, "forbidden");
  if (match) return ruleRefusal(command, match);
  return unclear ? `\`${shellQuote(command.argv)}\` rejected: ${UNCLEAR}` : undefined;
}

function byPolicy(command: ProposedCommand, findings: Findings): CommandVerdict {
  const { approvalPolicy, escalated } = command;
  const { proposedPrefix } = findings;
  const restricted = isRestricted(command);
  if (restricted && !command.sandboxEnforced)
    return approvalPolicy === "never"
      ? { ...refuse(NO_SANDBOX_REFUSAL), lacksSandbox: true }
      : ask(command, { proposedPrefix, needsPerson: false });
  const leaves = escalated && restricted && !(command.asRecorded && findings.safe);
  if ((approvalPolicy === "untrusted" && !findings.safe) || leaves) return ask(command, { proposedPrefix, needsPerson: false });
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
    ...(unprotected && { lacksSandbox: true }),
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

const NO_SANDBOX_REFUSAL = `command rejected, since the approval policy is Never: ${NO_SANDBOX}. Files can still be changed with apply_patch.`;

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

/** What is known about a command before any policy is applied. */
interface Findings {
  /** The strictest matching rule of each kind. */
  readonly forbidden?: RuleMatch;
  readonly prompt?: RuleMatch;
  /** There are such rules, and it is unknown whether they match some part of the command. */
  readonly unclear: boolean;
  readonly dangerous: boolean;
  /** Rules let it run outside the sandbox. */
  readonly allowedByRules: boolean;
  /** Each part is read-only or allowed by a rule. */
  readonly safe: boolean;
  /** The part that an approver could allow permanently. */
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
 * | such a rule and a program that a variable or a pattern names, or a script that cannot be read | not seen | asked |
 * | a known-safe command that asks to leave the sandbox | leaves it unasked | asked; `asRecorded`: stays in it, unasked |
 * | a dangerous command | "always allow" is offered | not offered; `asRecorded`: offered |
 */
function examine({ argv, rules, parser, trusts }: ExaminedCommand): Findings {
  const decisionFor = (words: readonly string[]) => matchRules(rules, words)?.decision;
  const parts = partsOf(argv, parser).map((part) => ({ ...part, safe: isSafePart(part, { trusts }), rule: decisionFor(part.words) }));
  const forbidden = rulesAgainst({ argv, rules, parser }, "forbidden");
  const prompt = rulesAgainst({ argv, rules, parser }, "prompt");
  const [shell = ""] = argv;
  // A bare name that leads to a planted shell could run anything.
  const shellIsTrusted = !trusts || shell.includes("/") || parts.some(({ words }) => words === argv) || trusts(shell);
  const unmatched = parts.filter((part) => part.rule === undefined);
  const proposedPrefix = (unmatched.find((part) => !part.safe) ?? unmatched[0])?.words;
  return {
    ...(forbidden.match && { forbidden: forbidden.match }),
    ...(prompt.match && { prompt: prompt.match }),
    unclear: forbidden.unclear || prompt.unclear,
    dangerous: isDangerous(argv, parser, (words) => decisionFor(words) === "allow"),
    allowedByRules: parts.some((part) => part.rule === "allow") && unmatched.every((part) => INERT.has(part.words[0] ?? "")),
    safe: shellIsTrusted && parts.every((part) => part.safe || part.rule === "allow"),
    ...(proposedPrefix && { proposedPrefix }),
  };
}

interface Against {
  /** The strictest rule that matches the command or any command it would run. */
  readonly match?: RuleMatch | undefined;
  /** Whether a rule matches is only known at run time. */
  readonly unclear: boolean;
}

/** A rule against a program matches whatever path the program is called by; a rule that allows it matches only as written. */
function rulesAgainst({ argv, rules, parser }: ExaminedCommand, decision: "forbidden" | "prompt"): Against {
  const about = rules.filter((rule) => rule.decision === decision);
  if (about.length === 0) return { unclear: false };
  const matches: RuleMatch[] = [];
  let unclear = false;
  for (const words of commandsWithin(argv, parser, { everyBeginning: true })) {
    const spellings = spellingsOf(words);
    matches.push(...spellings.flatMap((spelling) => matchRules(about, spelling) ?? []));
    unclear ||= isUnreadable(words, parser) || spellings.some((spelling) => about.some(({ pattern }) => mayBecome(spelling, pattern)));
    unclear ||= mayRun(words, about, parser);
  }
  return { match: strictest(matches), unclear };
}

/** The shell replaces such a word before the command runs. Quoted words are not replaced, but those are rare enough to ignore. */
function isExpanded(word: string): boolean {
  return /[$`*?{]/.test(word) || (word.includes("[") && word.lastIndexOf("]") > word.indexOf("["));
}

/** Whether the words match the pattern up to a word whose value is only known at run time. */
function mayBecome(words: readonly string[], pattern: PrefixRule["pattern"]): boolean {
  for (const [at, known] of pattern.entries()) {
    const word = words[at];
    if (word === undefined) return false;
    if (isExpanded(word)) return true;
    if (!known.includes(word)) return false;
  }
  return false;
}

/** One of the user's rules forbids the command, whatever else would allow it. */
class CommandForbidden extends AppError {
  readonly code = "command_forbidden";
}

/**
 * For a command that no one approves. Throws `CommandForbidden` if a rule forbids it, or if part of it cannot be read while there are rules
 * that forbid commands.
 */
export async function checkForbidden(argv: readonly string[], { codexHome }: { readonly codexHome: string }): Promise<void> {
  const { rules } = loadRules(codexHome);
  if (!rules.some(({ decision }) => decision === "forbidden")) return;
  const parser = await openBashReader(argv);
  const refusal = forbiddenRefusal({ argv, rules, parser });
  if (refusal !== undefined) throw new CommandForbidden(refusal);
}

export interface EndedCommand {
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
  readonly aggregated: string;
}

const DENIAL_WORDS = /operation not permitted|permission denied|read-only file system|seccomp|sandbox|landlock|failed to write file/i;

/** Exit codes for the command's own failures: misuse, not executable, not found. */
const OWN_FAILURES = new Set([2, 126, 127]);

const SIGSYS_EXIT = 128 + 31;

/** The reason shown in the question whether a command that the sandbox stopped may run again outside it. */
export const RETRY_REASON = "command failed; retry without sandbox?";

/** Whether a sandboxed command seems to have failed because of the sandbox. Guessed from its output: the kernel does not report it. */
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
