import { beforeAll, describe, expect, it } from "vitest";
import { NO_SANDBOX } from "../../errors.js";
import { APPROVAL_POLICIES, type ApprovalPolicy, type SandboxPolicy } from "../../policies.js";
import { type BashParser, openBashParser } from "../bash/reader.js";
import { readPrefixRules } from "../rules/ruleFile.js";
import {
  assessCommand,
  type CommandVerdict,
  type EndedCommand,
  isSandboxDenial,
  type ProposedCommand,
  retryAfterDenial,
} from "./assess.js";

let parser: BashParser;
beforeAll(async () => {
  parser = await openBashParser();
});

const READ_ONLY: SandboxPolicy = { type: "read-only" };
const WORKSPACE: SandboxPolicy = {
  type: "workspace-write",
  network_access: false,
  exclude_tmpdir_env_var: false,
  exclude_slash_tmp: false,
};
const FULL: SandboxPolicy = { type: "danger-full-access" };

interface Case extends Partial<Omit<ProposedCommand, "rules">> {
  readonly script?: string;
  readonly rules?: string;
}

function assess({ script = "touch a", rules = "", ...rest }: Case): CommandVerdict {
  return assessCommand({
    argv: ["bash", "-lc", script],
    escalated: false,
    approvalPolicy: "on-request",
    sandboxPolicy: WORKSPACE,
    sandboxEnforced: true,
    parser,
    rules: readPrefixRules(rules),
    ...rest,
  });
}

const proposedPrefix = ["touch", "a"];
const RUN_INSIDE: CommandVerdict = { kind: "run", sandboxed: true, proposedPrefix };
const RUN_OUTSIDE: CommandVerdict = { kind: "run", sandboxed: false, proposedPrefix };
const ASK_INSIDE: CommandVerdict = { kind: "ask", proposedPrefix, sandboxedAfterwards: true, needsPerson: false };
const ASK_OUTSIDE: CommandVerdict = { kind: "ask", proposedPrefix, sandboxedAfterwards: false, needsPerson: false };

describe("an ordinary command follows policy and sandbox", () => {
  it.each<[ApprovalPolicy, SandboxPolicy, CommandVerdict]>([
    ["never", READ_ONLY, RUN_INSIDE],
    ["never", WORKSPACE, RUN_INSIDE],
    ["never", FULL, RUN_OUTSIDE],
    ["on-failure", READ_ONLY, RUN_INSIDE],
    ["on-failure", WORKSPACE, RUN_INSIDE],
    ["on-failure", FULL, RUN_OUTSIDE],
    ["on-request", READ_ONLY, RUN_INSIDE],
    ["on-request", WORKSPACE, RUN_INSIDE],
    ["on-request", FULL, RUN_OUTSIDE],
    ["untrusted", READ_ONLY, ASK_INSIDE],
    ["untrusted", WORKSPACE, ASK_INSIDE],
    ["untrusted", FULL, ASK_OUTSIDE],
  ])("%s, %j", (approvalPolicy, sandboxPolicy, verdict) => expect(assess({ approvalPolicy, sandboxPolicy })).toEqual(verdict));
});

describe("a known-safe command needs no approval", () => {
  it.each<[ApprovalPolicy, SandboxPolicy, boolean]>([
    ["untrusted", READ_ONLY, true],
    ["untrusted", FULL, false],
    ["never", WORKSPACE, true],
  ])("%s, %j", (approvalPolicy, sandboxPolicy, sandboxed) => {
    const verdict = assess({ script: "cat a | head -n 3", approvalPolicy, sandboxPolicy });
    expect(verdict).toEqual({ kind: "run", sandboxed, proposedPrefix: ["cat", "a"] });
  });

  it("unless one part is not safe; then that part could be allowed", () => {
    expect(assess({ script: "cd x && touch a", approvalPolicy: "untrusted" })).toEqual(ASK_INSIDE);
  });

  it("a script that is not plain could be allowed as a whole", () => {
    const argv = ["bash", "-lc", "echo hi > a"];
    expect(assess({ argv, approvalPolicy: "untrusted" })).toEqual({ ...ASK_INSIDE, proposedPrefix: argv });
  });
});

describe("a request to leave the sandbox", () => {
  it("needs approval with the model's reason, and is then granted", () => {
    expect(assess({ escalated: true, justification: "the script asks for it" })).toEqual({
      ...ASK_OUTSIDE,
      reason: "the script asks for it",
    });
  });

  it("needs approval even if the command only reads", () => {
    expect(assess({ escalated: true, script: "cat a" })).toEqual({ ...ASK_OUTSIDE, proposedPrefix: ["cat", "a"] });
  });

  it("is granted inside the sandbox to a command that only reads, where such commands stay inside", () => {
    const inside = { escalated: true, asRecorded: true };
    expect(assess({ ...inside, script: "cat a" })).toEqual({ kind: "run", sandboxed: true, proposedPrefix: ["cat", "a"] });
    expect(assess({ ...inside, script: "cat a && touch b" })).toMatchObject({ kind: "ask", sandboxedAfterwards: false });
    expect(assess({ ...inside, script: "cat a", sandboxEnforced: false })).toMatchObject({ kind: "ask", lacksSandbox: true });
  });

  it("has no effect where no sandbox is in force", () => {
    expect(assess({ escalated: true, sandboxPolicy: FULL })).toEqual(RUN_OUTSIDE);
  });

  it.each<[ApprovalPolicy, string | undefined, string]>([
    [
      "never",
      undefined,
      "approval policy is Never; reject command — you should not ask for escalated permissions if the approval policy is Never",
    ],
    [
      "on-failure",
      "shell",
      "approval policy is OnFailure; reject command — you should not ask for escalated permissions if the approval policy is OnFailure",
    ],
    [
      "untrusted",
      "exec_command",
      "approval policy is UnlessTrusted; reject command — you cannot ask for escalated permissions if the approval policy is UnlessTrusted",
    ],
  ])("is refused under %s (%s)", (approvalPolicy, tool, text) => {
    expect(assess({ escalated: true, approvalPolicy, ...(tool && { tool }) })).toEqual({ kind: "refuse", text, unannounced: true });
  });
});

describe("a command that rules allow, in a turn that may not leave the sandbox", () => {
  const rules = 'prefix_rule(pattern=["touch"], decision="allow")';
  const allowed = (more: Case): CommandVerdict => assess({ rules, confined: true, ...more });

  it("runs inside without approval", () => {
    const policies: ApprovalPolicy[] = ["never", "untrusted", "on-failure", "on-request"];
    expect(policies.map((approvalPolicy) => allowed({ approvalPolicy }))).toEqual(policies.map(() => ({ kind: "run", sandboxed: true })));
    expect(assess({ rules })).toEqual({ kind: "run", sandboxed: false });
  });

  it("needs approval where no sandbox is enforced", () => {
    expect(allowed({ sandboxEnforced: false })).toMatchObject({ kind: "ask", sandboxedAfterwards: false });
    expect(allowed({ sandboxEnforced: false, approvalPolicy: "never" })).toMatchObject({ kind: "refuse" });
  });

  it("needs approval to leave the sandbox", () => {
    expect(allowed({ escalated: true })).toMatchObject({ kind: "ask", sandboxedAfterwards: false });
  });

  it("runs outside where full access is within the limits", () => {
    expect(allowed({ sandboxPolicy: FULL })).toEqual({ kind: "run", sandboxed: false });
  });
});

describe("a dangerous command", () => {
  const script = "ls && rm -rf a";

  it("needs a person's approval under every policy that may ask", () => {
    const policies: ApprovalPolicy[] = ["untrusted", "on-failure", "on-request"];
    const verdicts = policies.flatMap((approvalPolicy) =>
      [WORKSPACE, FULL].map((sandboxPolicy) => assess({ script, approvalPolicy, sandboxPolicy })),
    );
    const inside = { kind: "ask", sandboxedAfterwards: true, needsPerson: true };
    const outside = { ...inside, sandboxedAfterwards: false };
    expect(verdicts).toEqual([inside, outside, inside, outside, inside, outside]);
  });

  it("is refused under `never`", () => {
    const text = "`bash -lc 'ls && rm -rf a'` rejected: blocked by policy";
    expect(assess({ script, approvalPolicy: "never", sandboxPolicy: FULL })).toEqual({ kind: "refuse", text });
  });

  it("runs if a rule allows it", () => {
    expect(assess({ script: "rm -rf a", approvalPolicy: "never", rules: `prefix_rule(pattern=["rm"])` })).toEqual({
      kind: "run",
      sandboxed: false,
    });
  });

  it("may be allowed for the rest of the thread only as recorded", () => {
    expect(assess({ script })).not.toHaveProperty("proposedPrefix");
    expect(assess({ script, asRecorded: true })).toMatchObject({ kind: "ask", needsPerson: true, proposedPrefix: ["rm", "-rf", "a"] });
  });

  it("stays dangerous although a rule allows another part of the script", () => {
    expect(assess({ script: "touch a && rm -rf b", rules: `prefix_rule(pattern=["touch"])` })).toEqual({
      kind: "ask",
      sandboxedAfterwards: true,
      needsPerson: true,
    });
  });
});

describe("rules", () => {
  const allow = `prefix_rule(pattern=["touch"], decision="allow")`;
  const forbid = `prefix_rule(pattern=["touch"], decision="forbidden")`;
  const prompt = `prefix_rule(pattern=["touch"], decision="prompt")`;

  it.each<[string, Case, CommandVerdict]>([
    ["allow: outside the sandbox, unasked", { rules: allow, approvalPolicy: "untrusted" }, { kind: "run", sandboxed: false }],
    ["allow beside commands without effect", { rules: allow, script: "cd x && touch a; echo done" }, { kind: "run", sandboxed: false }],
    [
      "allow of one part only: inside",
      { rules: allow, script: "touch a && make" },
      { kind: "run", sandboxed: true, proposedPrefix: ["make"] },
    ],
    [
      "allow beside a reader: inside",
      { rules: allow, script: "cat x | touch a" },
      { kind: "run", sandboxed: true, proposedPrefix: ["cat", "x"] },
    ],
    [
      "allow beside an unknown part is asked",
      { rules: allow, script: "touch a && make", approvalPolicy: "untrusted" },
      { ...ASK_INSIDE, proposedPrefix: ["make"] },
    ],
    [
      "allow is no help for a script that is not plain",
      { rules: allow, script: "touch a > b" },
      { ...RUN_INSIDE, proposedPrefix: ["bash", "-lc", "touch a > b"] },
    ],
    [
      "allow holds as written only",
      { rules: allow, script: "./touch a", approvalPolicy: "untrusted" },
      { ...ASK_INSIDE, proposedPrefix: ["./touch", "a"] },
    ],
    ["allow of an escalated command", { rules: allow, escalated: true }, { kind: "run", sandboxed: false }],
    [
      "allow does not reach through a strange shell",
      { rules: allow, argv: ["../bash", "-lc", "touch a"] },
      { ...RUN_INSIDE, proposedPrefix: ["../bash", "-lc", "touch a"] },
    ],
    [
      "forbidden",
      { rules: forbid },
      { kind: "refuse", text: "`bash -lc 'touch a'` rejected: policy forbids commands starting with `touch`" },
    ],
    [
      "forbidden with a reason",
      { rules: `prefix_rule(pattern=["touch", "a"], decision="forbidden", justification="use make")` },
      { kind: "refuse", text: "`bash -lc 'touch a'` rejected: use make" },
    ],
    [
      "prompt",
      { rules: prompt },
      { kind: "ask", reason: "`bash -lc 'touch a'` requires approval by policy", sandboxedAfterwards: true, needsPerson: true },
    ],
    [
      "prompt with a reason, before the model's own",
      { rules: `prefix_rule(pattern=["touch"], decision="prompt", justification="why?")`, escalated: true, justification: "because" },
      { kind: "ask", reason: "`bash -lc 'touch a'` requires approval: why?", sandboxedAfterwards: false, needsPerson: true },
    ],
    [
      "prompt under never",
      { rules: prompt, approvalPolicy: "never" },
      { kind: "refuse", text: "approval required by policy, but AskForApproval is set to Never" },
    ],
  ])("%s", (_, command, verdict) => expect(assess(command)).toEqual(verdict));

  it.each([
    "touch a && ls",
    "/usr/bin/touch a",
    "sudo touch a",
    "touch a > b",
    "(touch $x)",
    "echo $(touch a)",
    "find . -exec touch {} +",
    `sh -c "touch a"`,
  ])("the forbidden command is found in `%s`, whatever else is allowed", (script) => {
    const rules = `${forbid}\nprefix_rule(pattern=[["bash", "sudo", "echo", "sh", "find"]])\n${allow}`;
    expect(assess({ script, rules, sandboxPolicy: FULL }).kind).toBe("refuse");
  });
});

describe("where no sandbox holds", () => {
  const sandboxEnforced = false;
  const reason = `without a sandbox, this command could change any file and use the network: ${NO_SANDBOX}`;
  const lacksSandbox = true;

  it.each<[ApprovalPolicy, string]>([
    ["untrusted", "touch a"],
    ["on-failure", "touch a"],
    ["on-request", "touch a"],
    ["untrusted", "cat a"],
    ["on-request", "cat a"],
  ])("every command needs approval: %s, %s", (approvalPolicy, script) => {
    expect(assess({ sandboxEnforced, approvalPolicy, script })).toEqual({
      ...ASK_OUTSIDE,
      lacksSandbox,
      reason,
      proposedPrefix: script.split(" "),
    });
  });

  it("the question also names the other reasons", () => {
    expect([
      assess({ sandboxEnforced, escalated: true, justification: "please" }),
      assess({ sandboxEnforced, script: "rm -rf a" }),
    ]).toEqual([
      { ...ASK_OUTSIDE, lacksSandbox, reason: `please; ${reason}` },
      { kind: "ask", lacksSandbox, reason, sandboxedAfterwards: false, needsPerson: true },
    ]);
  });

  it.each(["touch a", "cat a"])("under never even `%s` is refused", (script) => {
    expect(assess({ sandboxEnforced, approvalPolicy: "never", script })).toEqual({
      kind: "refuse",
      lacksSandbox,
      text: `command rejected, since the approval policy is Never: ${NO_SANDBOX}. Files can still be changed with apply_patch.`,
    });
  });

  it("full access and commands that the user's rules allow need no approval", () => {
    expect([
      assess({ sandboxEnforced, approvalPolicy: "never", sandboxPolicy: FULL }),
      assess({ sandboxEnforced, approvalPolicy: "never", rules: `prefix_rule(pattern=["touch"])` }),
    ]).toEqual([RUN_OUTSIDE, { kind: "run", sandboxed: false }]);
  });
});

function ended(exitCode: number, output: Partial<EndedCommand>): EndedCommand {
  return { exitCode, stdout: "", stderr: "", aggregated: "", ...output };
}

it.each([
  ["touch: cannot touch 'a': Permission denied", 1],
  ["Operation not permitted", 1],
  ["sh: 1: cannot create a: Read-only file system", 2],
  ["killed by SECCOMP", 1],
  ["the sandbox said no", 126],
  ["landlock", 127],
  ["failed to write file a", 255],
])("messages of the sandbox on any stream count: %s (%i)", (text, exitCode) => {
  const outputs = [{ stdout: text }, { stderr: text }, { aggregated: text }];
  expect(outputs.map((output) => isSandboxDenial(ended(exitCode, output), "linux"))).toEqual([true, true, true]);
});

it.each([
  [0, { stderr: "Permission denied" }, false],
  [1, { stderr: "no such file" }, false],
  [2, {}, false],
  [126, {}, false],
  [127, { stderr: "command not found" }, false],
  [-1, {}, false],
  [159, {}, true],
])("exit code %i with %j: %s", (exitCode, output, denied) => {
  expect(isSandboxDenial(ended(exitCode, output), "linux")).toBe(denied);
});

it("the exit code of a forbidden system call counts on Linux only", () => {
  expect(isSandboxDenial(ended(159, {}), "darwin")).toBe(false);
});

it("a run outside is offered where the policy does not leave the choice to the model", () => {
  expect(Object.fromEntries(APPROVAL_POLICIES.map((policy) => [policy, retryAfterDenial(policy)]))).toEqual({
    untrusted: "ask",
    "on-failure": "ask",
    "on-request": "report",
    never: "report",
  });
});
