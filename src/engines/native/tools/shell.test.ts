import { existsSync, readFileSync } from "node:fs";
import { chmod, writeFile } from "node:fs/promises";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { openToolStage, shellOutput, type ToolStage } from "../../../../test/support/memory/toolStage.js";
import { processesIn } from "../../../../test/support/processes/processesIn.js";
import { settingsIn } from "../../../../test/support/threads/rollouts.js";
import { typesOf } from "../../../../test/support/threads/turns.js";
import type { ApprovalPolicy, SandboxMode } from "../../../exec/policies.js";
import { userShell } from "./hostEnvironment.js";

const YES = { kind: "approved" } as const;
const REJECTED = "exec command rejected by user";

function policy(approvalPolicy: ApprovalPolicy, sandbox: SandboxMode = "workspace-write") {
  return openToolStage({ sandbox, settings: { approvalPolicy } });
}

/** The thread works as before. */
async function stillWorks(stage: ToolStage): Promise<void> {
  const answers = [YES, YES];
  expect(shellOutput(await stage.script("echo fine", { answers }))).toEqual({ output: "fine\n", exitCode: 0 });
}

describe("the approval policy and the sandbox decide", () => {
  const RAN = "ran";
  const STOPPED = "stopped by the sandbox";
  const ASKED = "asked";
  const REFUSED = "refused";
  const TABLE: readonly (readonly [ApprovalPolicy, SandboxMode, harmless: string, writing: string, dangerous: string])[] = [
    ["untrusted", "read-only", RAN, ASKED, ASKED],
    ["untrusted", "workspace-write", RAN, ASKED, ASKED],
    ["untrusted", "danger-full-access", RAN, ASKED, ASKED],
    ["on-failure", "read-only", RAN, ASKED, ASKED],
    ["on-failure", "workspace-write", RAN, RAN, ASKED],
    ["on-failure", "danger-full-access", RAN, RAN, ASKED],
    ["on-request", "read-only", RAN, STOPPED, ASKED],
    ["on-request", "workspace-write", RAN, RAN, ASKED],
    ["on-request", "danger-full-access", RAN, RAN, ASKED],
    ["never", "read-only", RAN, STOPPED, REFUSED],
    ["never", "workspace-write", RAN, RAN, REFUSED],
    ["never", "danger-full-access", RAN, RAN, REFUSED],
  ];

  async function fate(stage: ToolStage, script: string): Promise<string> {
    const turn = await stage.script(script, { answers: [{ kind: "denied" }] });
    if (turn.asked.length > 0) return turn.output === REJECTED ? ASKED : "asked and run";
    if (turn.output.includes("rejected: blocked by policy")) return REFUSED;
    return shellOutput(turn).exitCode === 0 ? RAN : STOPPED;
  }

  it.for(TABLE)("%s in %s: `ls` %s, a write %s, `rm -rf` %s", async ([approvalPolicy, sandbox, ...expected]) => {
    await using stage = await policy(approvalPolicy, sandbox);
    const fates = [];
    for (const script of ["ls", "touch made.txt", "rm -rf made.txt"]) fates.push(await fate(stage, script));
    expect(fates).toEqual(expected);
  });
});

describe("a command that only reads", () => {
  async function onlyLooks(stage: ToolStage, script: string): Promise<boolean> {
    const { events } = await stage.script(script);
    return events.some((event) => event.type === "commandStarted" && event.onlyLooks === true);
  }

  it("is announced as such, and no command that could write is", async () => {
    await using stage = await policy("never");
    const scripts = ["true", "ls -la && cat *.txt", "touch made.txt", "ls > list.txt", "git status", "./ls", "cat $(touch x)"];
    const looking = [];
    for (const script of scripts) looking.push(await onlyLooks(stage, script));
    expect(looking).toEqual([true, true, false, false, false, false, false]);
  });

  it("is not one whose name leads into the workspace", async () => {
    await using stage = await openToolStage({ settings: { approvalPolicy: "never" }, env: { PATH: `.:${process.env["PATH"]}` } });
    expect(await onlyLooks(stage, "ls")).toBe(true);
    await writeFile(path.join(stage.stage.workspace, "ls"), "#!/bin/sh\ntouch made.txt\n", { mode: 0o755 });
    expect(await onlyLooks(stage, "ls")).toBe(false);
  });
});

describe("a question about a command", () => {
  const SCRIPT = "touch made.txt";

  it("says what would run, where, and with what access", async () => {
    await using stage = await policy("untrusted");
    const { asked, events } = await stage.script(SCRIPT, { answers: [YES] });
    expect(asked).toEqual([
      {
        kind: "command",
        callId: "call_1",
        command: ["bash", "-c", SCRIPT],
        commandText: "bash -c 'touch made.txt'",
        cwd: stage.stage.workspace,
        parsed: [{ type: "unknown", cmd: SCRIPT }],
        proposedPrefix: ["touch", "made.txt"],
        staysInSandbox: true,
        needsPerson: false,
      },
    ]);
    expect(typesOf(events).filter((type) => /command|approval/.test(type))).toEqual([
      "commandStarted",
      "approvalRequested",
      "approvalDecided",
      "commandEnded",
    ]);
    expect(existsSync(stage.path("made.txt"))).toBe(true);
  });

  it.for([
    [{ kind: "denied" }, REJECTED],
    [{ kind: "denied", reason: "not on a Friday" }, `${REJECTED}: not on a Friday`],
    [{ kind: "denied", reason: "nobody answered", dismissed: true }, "exec command not approved: nobody answered"],
  ] as const)("answered with %j keeps it from running, informs the model, and the turn continues", async ([decision, output]) => {
    await using stage = await policy("untrusted");
    const turn = await stage.script(SCRIPT, { answers: [decision] });
    expect(turn.output).toBe(output);
    expect(turn.events.find(({ type }) => type === "commandEnded")).toMatchObject({ exitCode: -1, stderr: output, durationMs: 0 });
    expect(turn.events.at(-1)).toEqual({ type: "turnCompleted", lastMessage: "done" });
    expect(existsSync(stage.path("made.txt"))).toBe(false);
    await stillWorks(stage);
  });

  it("answered with abort ends the turn", async () => {
    await using stage = await policy("untrusted");
    const turn = await stage.script(SCRIPT, { answers: [{ kind: "abort" }] });
    expect(turn.events.at(-1)).toEqual({ type: "turnAborted", reason: "interrupted" });
    expect(existsSync(stage.path("made.txt"))).toBe(false);
    await stillWorks(stage);
  });

  it("answered for the session is not repeated, except for other commands", async () => {
    await using stage = await policy("untrusted");
    await stage.script(SCRIPT, { answers: [{ kind: "approvedForSession" }] });
    expect((await stage.script(SCRIPT)).asked).toEqual([]);
    expect((await stage.script("touch other.txt", { answers: [YES] })).asked).toHaveLength(1);
  });

  it("answered with a prefix allows every command that begins so, and nothing is written to the rules", async () => {
    await using stage = await policy("untrusted");
    await stage.script(SCRIPT, { answers: [{ kind: "approvedPrefix", prefix: ["touch"] }] });
    expect((await stage.script("touch other.txt")).asked).toEqual([]);
    expect((await stage.script("mkdir folder", { answers: [YES] })).asked).toHaveLength(1);
    expect(existsSync(path.join(stage.stage.codexHome, "rules"))).toBe(false);
  });

  it("is withdrawn when the turn is interrupted", async () => {
    await using stage = await policy("untrusted");
    const abort = new AbortController();
    const onEvent = ({ type }: { type: string }) => type === "approvalRequested" && abort.abort(new Error("stopped"));
    const turn = await stage.script(SCRIPT, { signal: abort.signal, onEvent });
    expect(turn.events.at(-1)).toEqual({ type: "turnAborted", reason: "interrupted" });
    expect(await stage.desk.pending()).toEqual([]);
    await stillWorks(stage);
  });
});

describe("a command that the sandbox stops", () => {
  const ESCAPE = "echo out > ../outside.txt";

  it("may be run outside under on-failure, if that is approved", async () => {
    await using stage = await policy("on-failure");
    const turn = await stage.script(ESCAPE, { answers: [YES] });
    expect(turn.asked).toMatchObject([{ reason: "command failed; retry without sandbox?", staysInSandbox: false, needsPerson: false }]);
    expect(shellOutput(turn)).toEqual({ output: "", exitCode: 0 });
    expect(readFileSync(path.join(stage.stage.root, "outside.txt"), "utf8")).toBe("out\n");
    expect(typesOf(turn.events).filter((type) => /^command(Started|Ended)$/.test(type))).toEqual(["commandStarted", "commandEnded"]);
  });

  it("stays stopped when that is denied", async () => {
    await using stage = await policy("on-failure");
    const turn = await stage.script(ESCAPE, { answers: [{ kind: "denied", reason: "no" }] });
    expect(turn.output).toBe(`${REJECTED}: no`);
    expect(existsSync(path.join(stage.stage.root, "outside.txt"))).toBe(false);
  });

  it("does not run outside only because a run inside was approved", async () => {
    await using stage = await policy("untrusted");
    const turn = await stage.script(ESCAPE, { answers: [YES, { kind: "denied" }] });
    expect(turn.asked.map(({ staysInSandbox }) => staysInSandbox)).toEqual([true, false]);
    expect(existsSync(path.join(stage.stage.root, "outside.txt"))).toBe(false);
  });

  it("needs no further approval once both runs were approved for the session", async () => {
    await using stage = await policy("untrusted");
    const forSession = { kind: "approvedForSession" } as const;
    await stage.script(ESCAPE, { answers: [forSession, forSession] });
    expect((await stage.script(ESCAPE)).asked).toEqual([]);
  });

  it.for(["on-request", "never"] as const)("is only reported under %s", async (approvalPolicy) => {
    await using stage = await policy(approvalPolicy);
    const { output, exitCode } = shellOutput(await stage.script(ESCAPE));
    expect({ exitCode, output }).toEqual({ exitCode: 1, output: expect.stringContaining("Read-only file system") });
  });
});

describe("a command that is to run outside the sandbox", () => {
  const ESCALATED = { sandbox_permissions: "require_escalated", justification: "needs the parent" };
  const SCRIPT = "echo out > ../outside.txt";

  it("needs approval with its justification, and runs outside", async () => {
    await using stage = await policy("on-request");
    const turn = await stage.script(SCRIPT, { with: ESCALATED, answers: [YES] });
    expect(turn.asked).toMatchObject([{ reason: "needs the parent", staysInSandbox: false }]);
    expect(existsSync(path.join(stage.stage.root, "outside.txt"))).toBe(true);
  });

  it.for([
    ["never", "Never"],
    ["on-failure", "OnFailure"],
    ["untrusted", "UnlessTrusted"],
  ] as const)("is refused under %s", async ([approvalPolicy, name]) => {
    await using stage = await policy(approvalPolicy);
    const { output, asked } = await stage.script(SCRIPT, { with: ESCALATED });
    expect({ output, asked }).toEqual({
      output: `approval policy is ${name}; reject command — you should not ask for escalated permissions if the approval policy is ${name}`,
      asked: [],
    });
  });
});

describe("the user's rules", () => {
  it("allow a command without a question, outside the sandbox", async () => {
    const rules = 'prefix_rule(pattern=["touch"], decision="allow")\n';
    await using stage = await openToolStage({ rules, sandbox: "read-only", settings: { approvalPolicy: "untrusted" } });
    expect(shellOutput(await stage.use("shell", { command: ["touch", "made.txt"] })).exitCode).toBe(0);
    expect(existsSync(stage.path("made.txt"))).toBe(true);
  });

  it("forbid what would run, and no approval allows it", async () => {
    const rules = 'prefix_rule(pattern=["echo"], decision="forbidden", justification="be quiet")\n';
    await using stage = await openToolStage({ rules, sandbox: "danger-full-access", settings: { approvalPolicy: "on-request" } });
    const { output, asked } = await stage.use("shell", { command: ["echo", "hello"] });
    expect({ output, asked }).toEqual({ output: "`echo hello` rejected: be quiet", asked: [] });
  });

  it("are ignored when exec_policy is off", async () => {
    const rules = 'prefix_rule(pattern=["echo"], decision="forbidden")\n';
    await using stage = await openToolStage({ rules, settings: { approvalPolicy: "never", features: { exec_policy: false } } });
    expect(shellOutput(await stage.use("shell", { command: ["echo", "hello"] })).output).toBe("hello\n");
  });
});

describe("without a sandbox that works", () => {
  const sandboxBin = "/bin/false";

  it("every command needs approval, and the question says why", async () => {
    await using stage = await openToolStage({ sandboxBin, settings: { approvalPolicy: "on-request" } });
    const turn = await stage.script("echo free", { answers: [YES] });
    expect(turn.asked).toMatchObject([{ staysInSandbox: false, reason: expect.stringContaining("no sandbox works on this machine") }]);
    expect(shellOutput(turn).output).toBe("free\n");
    expect(turn.events.find(({ type }) => type === "turnContext")).toMatchObject({ sandboxBackend: "none" });
  });

  it("no command runs under `never`", async () => {
    await using stage = await openToolStage({ sandboxBin, settings: { approvalPolicy: "never" } });
    expect((await stage.script("echo free")).output).toMatch(
      /^command rejected, since the approval policy is Never: no sandbox works on this machine/,
    );
  });

  it("full access stays full access", async () => {
    await using stage = await openToolStage({ sandboxBin, sandbox: "danger-full-access", settings: { approvalPolicy: "never" } });
    expect(shellOutput(await stage.script("echo free")).output).toBe("free\n");
  });
});

it("a sandbox that vanishes between two commands is an error for the model, and no command runs without it", async () => {
  await using first = await openToolStage();
  const sandboxBin = path.join(first.stage.home, "bwrap");
  await writeFile(sandboxBin, '#!/bin/sh\nexec /usr/bin/bwrap "$@"\n');
  await chmod(sandboxBin, 0o755);
  await using stage = await openToolStage({ sandboxBin, settings: { approvalPolicy: "never" } });
  await stillWorks(stage);
  await writeFile(sandboxBin, "#!/bin/sh\necho gone >&2\nexit 1\n");
  const turn = await stage.script("touch made.txt");
  expect(turn.output).toMatch(/^execution error: .*gone/s);
  expect(turn.events.at(-1)).toEqual({ type: "turnCompleted", lastMessage: "done" });
  expect(existsSync(stage.path("made.txt"))).toBe(false);
  await writeFile(sandboxBin, '#!/bin/sh\nexec /usr/bin/bwrap "$@"\n');
  await stillWorks(stage);
});

describe("a command", () => {
  it("that takes too long is ended, and the model gets its output", async () => {
    await using stage = await policy("never");
    const turn = await stage.script("echo begun; sleep 600", { with: { timeout_ms: 3_000 } });
    expect(shellOutput(turn)).toEqual({
      output: expect.stringMatching(/^command timed out after \d+ milliseconds\nbegun\n$/),
      exitCode: 124,
    });
    await stillWorks(stage);
  });

  it("ends when its turn is interrupted, even if it resists", async () => {
    await using stage = await policy("never");
    const abort = new AbortController();
    const script = `trap '' TERM INT; (setsid sh -c "trap '' TERM; touch alive; while :; do touch beat; sleep 0.05; done" &); echo up; sleep 600`;
    let before: number[] = [];
    const onEvent = ({ type }: { type: string }) => {
      if (type !== "commandOutput") return;
      before = processesIn(stage.stage.workspace);
      abort.abort(new Error("stopped"));
    };
    const turn = await stage.script(script, { signal: abort.signal, onEvent });
    expect(turn.events.at(-1)).toEqual({ type: "turnAborted", reason: "interrupted" });
    expect({ running: before.length > 1, left: processesIn(stage.stage.workspace) }).toEqual({ running: true, left: [] });
    await stillWorks(stage);
  });

  it("gets the environment of the policy, without the server's secrets", async () => {
    const env = { OPENAI_API_KEY: "sk-1", MY_PROVIDER_KEY: "sk-2", CODEX_MCP_TOKEN: "sk-3", PLAIN: "seen" };
    const provider = { ...settingsIn("/").provider, envKey: "MY_PROVIDER_KEY" };
    const shellEnvironment = { inherit: "all", ignoreDefaultExcludes: true, exclude: [], set: { ADDED: "yes" }, includeOnly: [] } as const;
    await using stage = await openToolStage({ env, settings: { approvalPolicy: "never", provider, shellEnvironment } });
    for (const script of ["env; cat /proc/*/environ 2>/dev/null | tr '\\0' '\\n'", "bash -lc env"]) {
      const { output } = shellOutput(await stage.script(script));
      expect(output).toMatch(/^PLAIN=seen$/m);
      expect(output).toMatch(/^ADDED=yes$/m);
      expect(output).not.toMatch(/sk-[123]/);
    }
  });

  it("cannot read the login inside the sandbox", async () => {
    await using stage = await policy("never");
    await writeFile(path.join(stage.stage.codexHome, "auth.json"), '{"OPENAI_API_KEY":"sk-9"}');
    const { output } = shellOutput(await stage.script(`cat ${stage.stage.codexHome}/auth.json; true`));
    expect(output).not.toContain("sk-9");
  });

  it.for([
    [false, "nowhere", expect.stringMatching(/^execution error: .*nowhere/)],
    [true, "nowhere", 'execution error: Io(Os { code: 2, kind: NotFound, message: "No such file or directory" })'],
    [true, "file", 'execution error: Io(Os { code: 20, kind: NotADirectory, message: "Not a directory" })'],
  ] as const)("in a missing folder is an error for the model (as recorded: %s, %s)", async ([asRecorded, workdir, told]) => {
    await using stage = await openToolStage({ sandbox: "workspace-write", settings: { approvalPolicy: "never", asRecorded } });
    await writeFile(stage.path("file"), "");
    const turn = await stage.script("echo hi", { with: { workdir } });
    expect(turn.output).toEqual(told);
    expect(turn.events.find(({ type }) => type === "commandEnded")).toMatchObject({ exitCode: -1, neverStarted: true });
    await stillWorks(stage);
  });

  it("that is not a program is reported to the model", async () => {
    await using stage = await policy("never");
    for (const command of [["no-such-program"], [""], []]) {
      const turn = await stage.use("shell", { command });
      expect(turn.events.at(-1)).toEqual({ type: "turnCompleted", lastMessage: "done" });
      expect(turn.output).not.toBe("");
    }
    await stillWorks(stage);
  });

  it("that prints another encoding, or incomplete characters, gives the model text", async () => {
    await using stage = await policy("never");
    expect(shellOutput(await stage.script("printf 'caf\\351 na\\357ve\\n'")).output).toBe("café naïve\n");
    expect(shellOutput(await stage.script("printf '\\303'; printf '\\251b\\n'")).output).toBe("éb\n");
  });

  it("that reads its input finds it empty", async () => {
    await using stage = await policy("never");
    expect(shellOutput(await stage.script("cat; echo end"))).toEqual({ output: "end\n", exitCode: 0 });
  });

  it("whose output is long is cut in the middle for the model", async () => {
    await using stage = await policy("never");
    const { output } = shellOutput(await stage.script("seq 1 20000"));
    expect(Buffer.byteLength(output)).toBeLessThan(10_200);
    expect(output).toMatch(/^Total output lines: 20000\n\n1\n2\n.*…\d+ chars truncated….*\n20000\n$/s);
  });
});

describe("a model that makes a mistake", () => {
  it.for([
    ["nonsense", {}, "unsupported call: nonsense"],
    ["shell", "{", expect.stringMatching(/^failed to parse function arguments: /)],
    ["shell", {}, "failed to parse function arguments: missing field `command` at line 1 column 2"],
    ["shell", { command: "ls" }, 'failed to parse function arguments: invalid type: string "ls", expected a sequence at line 1 column 15'],
    [
      "shell",
      { command: ["ls"], timeout_ms: -1 },
      "failed to parse function arguments: invalid value: integer `-1`, expected u64 at line 1 column 33",
    ],
    [
      "shell_command",
      { command: ["ls"] },
      "failed to parse function arguments: invalid type: sequence, expected a string at line 1 column 11",
    ],
    ["view_image", {}, "failed to parse function arguments: missing field `path` at line 1 column 2"],
  ] as const)("%s with %j gets an error", async ([tool, args, output]) => {
    await using stage = await policy("never");
    const turn = await stage.use(tool, args);
    expect(turn.output).toEqual(output);
    expect(turn.events.at(-1)).toEqual({ type: "turnCompleted", lastMessage: "done" });
    await stillWorks(stage);
  });
});

it("an unusable profile blocks no command, and is reported once", async () => {
  await using stage = await policy("never");
  await writeFile(path.join(stage.stage.home, ".bash_profile"), "export FROM_PROFILE=yes\nexit 1\n");
  const first = await stage.use("shell_command", { command: "echo -$FROM_PROFILE-" });
  const second = await stage.use("shell_command", { command: "echo again" });
  expect([first.output, second.output]).toEqual([expect.stringMatching(/\nOutput:\n--\n$/), expect.stringMatching(/\nOutput:\nagain\n$/)]);
  const warnings = [first, second].map(({ events }) => events.flatMap((event) => (event.type === "warning" ? [event.message] : [])));
  expect(warnings).toEqual([
    [expect.stringMatching(/^The login profile of .*bash cannot be used: it ends with exit code 1\. Commands run in a plain shell/)],
    [],
  ]);
});

it("shell_command runs a script in the user's shell, with its login environment", async () => {
  await using stage = await policy("never");
  await writeFile(path.join(stage.stage.home, ".bash_profile"), "export FROM_PROFILE=yes\n");
  const told = async (args: unknown) => (await stage.use("shell_command", args)).output;
  expect(await told({ command: "echo $FROM_PROFILE; exit 3" })).toMatch(/^Exit code: 3\nWall time: [\d.]+ seconds\nOutput:\nyes\n$/);
  expect(await told({ command: "echo -$FROM_PROFILE-", login: false })).toMatch(/\nOutput:\n--\n$/);
});

describe("the placeholders that protect the folder while commands run", () => {
  const protectedNames = (stage: ToolStage) => [".git", ".codex", ".agents"].filter((name) => existsSync(stage.path(name)));

  it("are there when the command starts, and gone when the turn has ended", async () => {
    await using stage = await policy("never");
    const { output } = shellOutput(await stage.script("ls -A"));
    expect([output.split("\n").filter((name) => [".git", ".codex", ".agents"].includes(name)), protectedNames(stage)]).toEqual([
      [".agents", ".codex", ".git"],
      [],
    ]);
  });

  it("are gone before the next tool call, which may create a file of that name", async () => {
    await using stage = await openToolStage({ settings: { approvalPolicy: "on-request", asRecorded: false } });
    const patch = "*** Begin Patch\n*** Add File: .agents\n+notes\n*** End Patch";
    const items = [stage.call("shell", { command: ["true"] }), stage.call("apply_patch", { input: patch })];
    await stage.play(items, { answers: [YES] });
    expect(readFileSync(stage.path(".agents"), "utf8")).toBe("notes\n");
  });

  it("are removed if the turn ends between the announcement of a command and its start", async () => {
    await using stage = await policy("never");
    const stop = new AbortController();
    const turn = stage.script("touch made", {
      signal: stop.signal,
      onEvent: ({ type }) => type === "commandStarted" && stop.abort(),
    });
    await turn.catch(() => undefined);
    expect([existsSync(stage.path("made")), protectedNames(stage)]).toEqual([false, []]);
  });
});

describe("the shell of a command line", () => {
  it.for([
    ["/bin/sh", "/bin/sh"],
    ["/usr/sbin/nologin", "/bin/bash"],
    ["/bin/false", "/bin/bash"],
    ["/nowhere/zsh", "/bin/bash"],
    ["", "/bin/bash"],
    [undefined, "/bin/bash"],
  ] as const)("with SHELL=%s is %s", ([SHELL, shell]) => {
    expect(userShell({ SHELL })).toBe(shell);
  });
});
