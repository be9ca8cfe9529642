/** The names of one argument in different tool sets and servers. */
const SAME: readonly (readonly string[])[] = [
  ["cwd", "workingDirectory"],
  ["approval-policy", "approval_policy", "approvalPolicy"],
  ["developer-instructions", "instructions", "developerInstructions"],
  ["base-instructions", "baseInstructions"],
  ["threadId", "thread_id", "conversationId"],
  ["prompt", "query", "message"],
  ["branch", "base"],
];

type Instead = readonly [needs: string, sentence: string];

const KEPT: Instead = ["threadId", "A thread keeps its settings; `codex` begins one with others."];
const ONLY_READS = "This tool only reads, and never asks; `codex` can change files.";
const READS: readonly Instead[] = [
  ["target", ONLY_READS],
  ["prompt", ONLY_READS],
];
const WAITS: Instead = ["wait", "Use `wait` (seconds) in its place."];
const BEGINS: Instead = ["wait", "This tool begins a thread; `codex-reply` continues one."];
const LOOKS: Instead = ["prompt", "Name the files in the prompt: the agent can look at images."];

/**
 * What to use instead of arguments that only other tools have, or that no tool has. The first sentence whose named argument the tool has is
 * used.
 */
const INSTEAD: Readonly<Record<string, readonly Instead[]>> = {
  fullAuto: [["sandbox", "Use `sandbox: workspace-write` in its place."]],
  reasoningEffort: [["config", "Use `config: { model_reasoning_effort: … }` in its place."]],
  resetSession: [["cwd", "Every call of this tool begins a new thread; leave it out."]],
  uncommitted: [["target", "Use `target: uncommitted` in its place."]],
  "approval-policy": [KEPT, ...READS],
  config: [KEPT],
  cwd: [KEPT],
  model: [KEPT],
  profile: [KEPT],
  threadId: [BEGINS],
  thread_id: [BEGINS],
  conversationId: [BEGINS],
  sandbox: [KEPT, ...READS],
  timeout: [WAITS],
  timeoutMs: [WAITS],
  image: [LOOKS],
  images: [LOOKS],
  prompt: [["instructions", "Use `instructions` to say what the reviewer should look at."]],
};

/** The tool sets that have arguments with these names. */
const OF_SET: Readonly<Record<string, string>> = {
  workingDirectory: "codex-cli",
  fullAuto: "codex-cli",
  reasoningEffort: "codex-cli",
  resetSession: "codex-cli",
  callbackUri: "codex-cli",
  uncommitted: "codex-cli",
  base: "codex-cli",
  title: "codex-cli",
  numResults: "codex-cli",
  searchDepth: "codex-cli",
  approval_policy: "openoxide",
  instructions: "openoxide",
  thread_id: "openoxide",
  query: "openoxide",
};

/** Advice for an unknown argument that a tool of another set has; undefined for names that no set has. */
export function adviceOnArgument(name: string, known: Readonly<Record<string, unknown>>): string | undefined {
  const has = (other: string) => Object.hasOwn(known, other);
  const same = SAME.find((names) => names.includes(name))?.find((other) => other !== name && has(other));
  const sentence = same === undefined ? instead(name, has) : `Its name here is \`${same}\`.`;
  const set = Object.hasOwn(OF_SET, name) ? OF_SET[name] : undefined;
  const elsewhere = set && `Tools with \`${name}\` are in the set ${set} (--tools ${set}).`;
  return sentence ?? elsewhere;
}

function instead(name: string, has: (argument: string) => boolean): string | undefined {
  const found = Object.hasOwn(INSTEAD, name) ? INSTEAD[name] : undefined;
  return found?.find(([needs]) => has(needs))?.[1];
}
