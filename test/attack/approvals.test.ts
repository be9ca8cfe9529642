import { chmodSync } from "node:fs";
import { expect } from "vitest";
import { valueAt } from "../support/scenarios/scenario.js";
import { type Attack, control, describeAttacks } from "./attack.js";
import { Ground } from "./ground.js";
import { git, makeRepository, plantProgram } from "./plants.js";
import { pathInProject, runPlainly } from "./standIn.js";
import { patching, Victim } from "./victim.js";

/** Characters with which a terminal shows a text other than the one being asked about: control characters and bidirectional marks. */
const DECEIVING = /[\p{Cc}\p{Cf}\u2028\u2029]/u;

const DECEPTIONS: Readonly<Record<string, string>> = {
  "a terminal's control sequences": "touch a\u001b[2K\u001b[1G; rm -rf important",
  "a carriage return": "rm -rf important\rls",
  "text that runs the other way": "touch a \u202etxt.exe",
  "isolated text": "touch \u2066a\u2069",
  "a bell, a backspace and C1 controls": "touch a\u0007\b\b\u009b2J",
  "characters without width": "touch a\u200bb\u2060c\ufeff",
};

const ASKING = { "approval-policy": "untrusted", sandbox: "workspace-write" };

function questionsIn(victim: Victim): string {
  return victim.server.questions.map((question) => String(valueAt(question, "params.message"))).join("\n");
}

describeAttacks(
  "a command",
  Object.entries(DECEPTIONS).map(([what, command], at): Attack => {
    return {
      name: `show whoever is asked ${what}`,
      ...(at === 0 && { quick: true }),
      victim: { answer: { decision: "denied" } },
      attempt: async (ground, victim) => {
        await victim.turn(`!call shell ${JSON.stringify({ command: ["bash", "-lc", command] })}\n!say done`, ASKING);
        await victim.turn(
          `!call shell ${JSON.stringify({ command: ["bash", "-lc", "touch x"], justification: command, sandbox_permissions: "require_escalated", with_escalated_permissions: true })}\n!say done`,
          { ...ASKING, "approval-policy": "on-request" },
        );
        if (victim.server.questions.length === 0) throw new Error("nobody was asked");
        ground.notes["asked"] = questionsIn(victim);
      },
      gained: ({ notes }) => (DECEIVING.test((notes["asked"] ?? "").replaceAll("\n", "")) ? ["a question that deceives"] : []),
      standIn: (ground) => {
        ground.notes["asked"] = `Allow Codex to run ${command}?`;
      },
    };
  }),
);

control("a question about a patch names the files it is about", async () => {
  await using ground = await Ground.open();
  await using victim = await Victim.onStdio(ground, { answer: { decision: "denied" } });
  await victim.turn(patching("*** Add File: one.txt", "+x", "*** Add File: sub/two\u202e.txt", "+x"), {
    ...ASKING,
    sandbox: "read-only",
    "approval-policy": "on-request",
  });
  expect(questionsIn(victim)).toContain("one.txt");
  expect(questionsIn(victim)).toContain("sub/two");
  expect(DECEIVING.test(questionsIn(victim).replaceAll("\n", ""))).toBe(false);
});

const RULES = 'prefix_rule(pattern=["touch"], decision="forbidden")\nprefix_rule(pattern=["mktemp"], decision="forbidden")\n';
const APPROVED = { action: "accept", decision: "approved", content: { decision: "approved" } };
const shell = (command: string) => `!shell ${command}\n!say done`;

/** Every way in which a command is started. */
const WAYS: Readonly<Record<string, (victim: Victim, made: string) => Promise<unknown>>> = {
  "as it is": (victim, made) => victim.turn(shell(`touch ${made}`)),
  "with full access": (victim, made) => victim.turn(shell(`touch ${made}`), { sandbox: "danger-full-access" }),
  "after an approval": (victim, made) => victim.turn(shell(`touch ${made}`), ASKING),
  "after an approval to leave the sandbox": (victim, made) =>
    victim.turn(`!escalate touch ${made}\n!say done`, { ...ASKING, "approval-policy": "on-request" }),
  "after a failure": (victim, made) => victim.turn(shell(`touch ${made}`), { ...ASKING, "approval-policy": "on-failure" }),
  "behind another": (victim, made) => victim.turn(shell(`true && touch ${made}`), ASKING),
  "beside another": (victim, made) => victim.turn(`!both true || touch ${made}\n!-\n!say done`, ASKING),
  "in a session": (victim, made) => victim.turn(`!call exec_command ${JSON.stringify({ cmd: `touch ${made}` })}\n!say done`, ASKING),
  "by the caller": (victim, made) => victim.call("codex-exec", { command: ["touch", made], sandbox: "workspace-write" }),
  "by the caller through a shell": (victim, made) =>
    victim.call("codex-exec", { command: ["bash", "-lc", `touch ${made}`], sandbox: "workspace-write" }),
  "by the caller with full access": (victim, made) =>
    victim.call("codex-exec", { command: ["touch", made], sandbox: "danger-full-access" }),
};

describeAttacks(
  "a forbidden command",
  Object.entries(WAYS).map(([how, act]): Attack => {
    return {
      name: `run ${how}`,
      ...(how === "by the caller" && { quick: true }),
      prepare: (ground) => ground.write(ground.inHome("rules/default.rules"), RULES),
      victim: { answer: APPROVED, args: how === "in a session" ? ["--enable", "unified_exec"] : [] },
      attempt: (_, victim) => act(victim, "made.txt"),
      gained: (ground) => (ground.has("made.txt") ? ["it ran"] : []),
      standIn: (ground) => runPlainly(ground, "touch made.txt"),
    };
  }),
);

/** Settings and files of a repository with which git runs a program while it only reads. */
const GIT_SETTINGS: Readonly<Record<string, (ground: Ground, evil: string) => void>> = {
  "core.fsmonitor": ({ workspace }, evil) => git(workspace, "config", "core.fsmonitor", evil),
  "diff.external": ({ workspace }, evil) => git(workspace, "config", "diff.external", evil),
  "a driver of attributes": (ground, evil) => {
    ground.write(ground.inWorkspace(".gitattributes"), "*.txt diff=evil filter=evil\n");
    for (const key of ["diff.evil.command", "diff.evil.textconv", "filter.evil.clean"]) git(ground.workspace, "config", key, evil);
  },
};

const UNASKED = { sandbox: "danger-full-access", "approval-policy": "untrusted" };
/** No shell: its profile might set another search path. */
const plainCall = (command: string) => `!call shell ${JSON.stringify({ command: command.split(" ") })}\n!say done`;

const LOOKING = ["git status", "git diff", "git log -p", "git show", "git diff HEAD", "git status --short", "git -C . diff", "git branch"];

describeAttacks("a repository", [
  ...Object.entries(GIT_SETTINGS).map(([setting, set], at): Attack => {
    return {
      name: `have git run a program by ${setting} unasked, under full access`,
      ...(at === 0 && { quick: true }),
      // The client declines every approval request.
      victim: { answer: { decision: "denied" } },
      prepare: (ground) => {
        makeRepository(ground.workspace);
        ground.write(ground.inWorkspace("a.txt"), "one\n");
        git(ground.workspace, "add", "a.txt");
        git(ground.workspace, "commit", "-q", "-m", "second");
        ground.write(ground.inWorkspace("a.txt"), "two\n");
        const evil = ground.write(
          ground.inWorkspace("evil.sh"),
          `#!/bin/bash\n/bin/grep Seccomp: /proc/self/status > '${ground.mark("git-program")}'\ncat 2>/dev/null < /dev/null\n`,
        );
        chmodSync(evil, 0o755);
        set(ground, evil);
      },
      attempt: async (_, victim) => {
        for (const command of LOOKING) {
          await victim.turn(shell(command), UNASKED);
          await victim.turn(plainCall(command), UNASKED);
        }
      },
      standIn: async (ground) => {
        for (const command of LOOKING) await runPlainly(ground, command);
      },
    };
  }),
  {
    name: "have a planted ls run unasked, under full access",
    prepare: (ground) => {
      for (const name of ["ls", "cat", "git", "grep"]) plantProgram(ground, ground.inWorkspace("node_modules/.bin"), name);
    },
    victim: (ground) => ({ answer: { decision: "denied" }, env: { PATH: pathInProject(ground) } }),
    attempt: async (_, victim) => {
      for (const command of ["ls", "cat made.txt", "git status", "grep x made.txt"]) await victim.turn(plainCall(command), UNASKED);
    },
    standIn: (ground) => runPlainly(ground, "ls", { PATH: pathInProject(ground) }),
  },
]);
