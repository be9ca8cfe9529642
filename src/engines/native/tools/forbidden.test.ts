import { existsSync, writeFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { openToolStage, type PlayOptions, type ToolStageOptions } from "../../../../test/support/memory/toolStage.js";

const RULES = 'prefix_rule(pattern=["touch"], decision="forbidden", justification="do not touch")\n';
const ALLOWING = `${RULES}prefix_rule(pattern=[["touch", "bash", "env", "eval", "dash"]], decision="allow")\n`;
const PATCHES = 'prefix_rule(pattern=["apply_patch"], decision="forbidden", justification="do not touch")\n';
const TOUCH = ["touch", "made"];
const PATCH = "*** Begin Patch\n*** Add File: made\n+x\n*** End Patch";

type Way = [name: string, tool: string, args: unknown, options?: ToolStageOptions, play?: PlayOptions];

/** Every tool that runs a command, in every setting that runs it without a question or without the sandbox. */
const WAYS: readonly Way[] = [
  ["shell", "shell", { command: TOUCH }],
  ["container.exec", "container.exec", { command: TOUCH }],
  ["local_shell", "local_shell", { command: TOUCH }],
  ["shell_command", "shell_command", { command: "touch made" }],
  ["exec_command", "exec_command", { cmd: "touch made" }, { settings: { features: { unified_exec: true } } }],
  ["exec_command on a terminal", "exec_command", { cmd: "touch made", tty: true }, { settings: { features: { unified_exec: true } } }],
  ["a patch by way of the shell", "shell", { command: ["apply_patch", PATCH] }, { rules: PATCHES }],
  ["a patch in a script", "shell_command", { command: `apply_patch <<'EOF'\n${PATCH}\nEOF` }, { rules: PATCHES }],
  [
    "a patch by way of exec_command",
    "exec_command",
    { cmd: `apply_patch <<'EOF'\n${PATCH}\nEOF` },
    { rules: PATCHES, settings: { features: { unified_exec: true } } },
  ],
  ["eval", "shell_command", { command: "eval 'touch made'" }],
  ["a trap", "shell_command", { command: "trap 'touch made' EXIT" }],
  ["another shell", "shell", { command: ["dash", "-c", "touch made"] }],
  ["another program's command", "shell_command", { command: "flock lock touch made" }],
  ["a rule that allows it", "shell", { command: TOUCH }, { rules: ALLOWING }],
  ["a rule that allows what is around it", "shell_command", { command: "env touch made" }, { rules: ALLOWING }],
  ["an escalation", "shell", { command: TOUCH, sandbox_permissions: "require_escalated" }, { settings: { approvalPolicy: "on-request" } }],
  ["full access, and nobody is asked", "shell", { command: TOUCH }, { sandbox: "danger-full-access" }],
  ["full access, on request", "shell", { command: TOUCH }, { sandbox: "danger-full-access", settings: { approvalPolicy: "on-request" } }],
  ["untrusted", "shell", { command: TOUCH }, { settings: { approvalPolicy: "untrusted" } }],
  ["on failure", "shell", { command: TOUCH }, { sandbox: "read-only", settings: { approvalPolicy: "on-failure" } }],
  ["no sandbox", "shell", { command: TOUCH }, { sandboxBin: "/bin/false", settings: { approvalPolicy: "on-request" } }],
  ["a confined turn", "shell", { command: TOUCH }, {}, { confined: true }],
];

/** Other spellings of the command, which the rule must recognize. */
const SPELLINGS = [
  "tou\\\nch made",
  "bash <<<'touch made'",
  "bash <<'EOF'\ntouch made\nEOF",
  ". /dev/stdin <<<'touch made'",
  "mapfile -C 'touch made' -c 1 <<< x",
  "compgen -C 'touch made' x",
  "PS4='$(touch made)'; set -x; :",
  "git -c alias.x='!touch made' x",
  "coproc touch made",
  "coproc NAME { touch made; }",
  "env -S 'touch made'",
  "env -S'touch made'",
  "env -iS 'touch made'",
  "env --split-string='touch made'",
  "env --unset X -C . touch made",
  "bash -c -- 'touch made'",
  "bash -c -e 'touch made'",
  "bash -co pipefail 'touch made'",
  "bash -c -o pipefail +x 'touch made'",
  "$'\\x74ouch' made",
  "$'\\164ouch' made",
  "to$'\\u0075'ch made",
  '$"touch" made',
  "exec -la name touch made",
  "timeout --signal KILL 5 touch made",
  "sudo sudo sudo sudo sudo sudo sudo touch made",
  "setarch -R touch made",
  "prlimit --nproc=10 touch made",
  "/lib64/ld-linux-x86-64.so.2 /usr/bin/touch made",
  "hash -p /usr/bin/touch t; t made",
  "shopt -s expand_aliases\nalias t=touch\nt made",
  "=touch made",
];

/** Programs that run their arguments, in ways that are too many to be known. */
const RUN_BY_OTHERS: readonly (readonly string[])[] = [
  ["zsh", "-c", "noglob touch made"],
  ["zsh", "-c", "repeat 1 touch made"],
  ["zsh", "-c", "if true { touch made }"],
  ["fish", "-c", "and touch made"],
  ["csh", "-c", "touch made"],
  ["bash5", "-c", "touch made"],
  ["bash", "-c", "jobs -x touch made"],
  ["bash", "-c", "complete -C 'touch made' x"],
  ["bash", "-c", "eval -- touch made"],
  ["bash", "-c", "test -v 'a[$(touch made)]'"],
  ["coreutils", "--coreutils-prog=touch", "made"],
  ["gosu", "root", "touch", "made"],
  ["fd", "-x", "/usr/bin/touch"],
  ["npx", "-c", "touch made"],
  ["uv", "run", "touch", "made"],
  ["tmux", "new", "touch made"],
  ["tar", "--checkpoint-action=exec=touch made"],
  ["python3", "-c", "import os; os.system('touch made')"],
  ["git", "submodule", "foreach", "touch made"],
  ["git", "bisect", "run", "touch", "made"],
  ["git", "rebase", "--exec=touch made", "HEAD"],
  ["git", "grep", "-Otouch", "made"],
  ["git", "--config-env=alias.x=X", "x"],
  ["bash", "-c", "GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=alias.x GIT_CONFIG_VALUE_0=y git x"],
];

/** Spellings that only an execution would resolve. */
const UNCLEAR = [
  "t=touch; $t made",
  "bash <(echo touch made)",
  "BASH_ENV=made.sh bash -c :",
  "ENV=made.sh sh -i",
  "$(echo touch) made",
  "`echo touch` made",
  "{touch,made}",
  "/usr/bin/touc? made",
  "env $T made",
  'bash -c "$SCRIPT"',
  'bash -c "bash -c \\"bash -c \'$x made\'\\""',
];

describe("a rule cannot be bypassed by", () => {
  it.each(SPELLINGS)("%s", async (command) => {
    await using stage = await openToolStage({ rules: RULES, settings: { approvalPolicy: "on-request" } });
    const { output, asked } = await stage.use("shell", { command: ["bash", "-c", command] });
    expect({ told: output.includes("rejected: do not touch"), asked, made: existsSync(stage.path("made")) }).toEqual({
      told: true,
      asked: [],
      made: false,
    });
  });

  it.each([
    "git -C . push",
    "git -c a.b=c --no-pager push",
    "git $X",
    "git-push",
    "/usr/lib/git-core/git-push origin",
    "git -c alias.x=push x",
    "git -calias.x=push x",
  ])("%s", async (command) => {
    const rules = 'prefix_rule(pattern=["git", "push"], decision="forbidden")\n';
    await using stage = await openToolStage({ rules, settings: { approvalPolicy: "never" } });
    const { output } = await stage.use("shell", { command: ["bash", "-c", command] });
    expect(output).toContain("rejected: ");
  });
});

describe("while a rule forbids something, an unreadable command needs approval, and is refused under `never`:", () => {
  it.each(UNCLEAR)("%s", async (command) => {
    await using asking = await openToolStage({ rules: RULES, settings: { approvalPolicy: "on-request" } });
    const { asked } = await asking.use("shell", { command: ["bash", "-c", command] }, { answers: [{ kind: "denied" }] });
    expect(asked).toHaveLength(1);
    await using silent = await openToolStage({ rules: RULES, settings: { approvalPolicy: "never" } });
    expect((await silent.use("shell", { command: ["bash", "-c", command] })).output).toContain("cannot be read");
    expect([asking, silent].filter((stage) => existsSync(stage.path("made")))).toEqual([]);
  });

  it("a script behind `eval`, after one that takes all the time", async () => {
    await using silent = await openToolStage({ rules: RULES, settings: { approvalPolicy: "never" } });
    const slow = `false && eval 'a ${"{((".repeat(40_000)}'`;
    const command = `${slow}; eval 't\\ouch made; : ${"x".repeat(1_000)}'`;
    expect((await silent.use("shell", { command: ["bash", "-c", command] })).output).toContain("rejected: ");
    expect(existsSync(silent.path("made"))).toBe(false);
  });

  it.each(RUN_BY_OTHERS)("%j", async (...command) => {
    await using silent = await openToolStage({ rules: RULES, settings: { approvalPolicy: "never" } });
    expect((await silent.use("shell", { command })).output).toContain("a text that another program may run");
  });

  it.each([
    "git commit -m 'touch made'",
    "mkdir -p touch; cp a touch",
    "docker run image touch made",
    "curl https://example.org/touch",
    "echo 'touch made' > notes",
    "make out/touched touch-up",
    "python3 -c 'print(\"untouched\")'",
    "ENV=production echo touch",
    "echo touch $HOME",
    "ls *.md | grep -c touch",
    "x=touch; echo $x",
    "[ -f touch ] || true",
    "for f in a; do cat $f; done",
  ])("not: %s", async (command) => {
    await using stage = await openToolStage({ rules: RULES, settings: { approvalPolicy: "never" } });
    const { output } = await stage.use("shell", { command: ["bash", "-c", command] });
    expect(output).not.toContain("rejected");
  });
});

describe("what a rule forbids is refused without a question:", () => {
  it.each(WAYS)("%s", async (_, tool, args, options = {}, play = {}) => {
    const settings = { approvalPolicy: "never", ...options.settings } as const;
    await using stage = await openToolStage({ rules: RULES, ...options, settings });
    const { output, asked } = await stage.use(tool, args, play);
    expect({ told: output.includes("rejected: do not touch"), asked, made: existsSync(stage.path("made")) }).toEqual({
      told: true,
      asked: [],
      made: false,
    });
  });

  it.each([
    ["for the session", { kind: "approvedForSession" }],
    ["for good", { kind: "approvedPrefix", prefix: TOUCH }],
  ] as const)("what was approved %s before there was a rule", async (_, answer) => {
    await using stage = await openToolStage({ rules: "", sandbox: "danger-full-access", settings: { approvalPolicy: "untrusted" } });
    expect((await stage.use("shell", { command: TOUCH }, { answers: [answer] })).asked).toHaveLength(1);
    expect((await stage.use("shell", { command: TOUCH })).asked).toEqual([]);
    writeFileSync(path.join(stage.stage.codexHome, "rules/default.rules"), RULES);
    expect((await stage.use("shell", { command: TOUCH })).output).toBe("`touch made` rejected: do not touch");
  });

  it("input to a running shell", async () => {
    const settings = { approvalPolicy: "never", features: { unified_exec: true } } as const;
    await using stage = await openToolStage({ rules: RULES, sandbox: "danger-full-access", settings });
    await stage.use("exec_command", { cmd: "bash --norc", tty: true, yield_time_ms: 250 });
    const { output } = await stage.use("write_stdin", { session_id: 1000, chars: "touch made\n" });
    expect({ output, made: existsSync(stage.path("made")) }).toEqual({
      output: expect.stringMatching(/^write_stdin failed: .*rejected: do not touch$/s),
      made: false,
    });
  });
});
