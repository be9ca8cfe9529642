import { mkdirSync } from "node:fs";
import path from "node:path";
import { expect } from "vitest";
import { valueAt } from "../support/scenarios/scenario.js";
import { type Attack, control, describeAttacks } from "./attack.js";
import { Ground } from "./ground.js";
import { git, makeRepository } from "./plants.js";
import { Victim, type VictimOptions } from "./victim.js";

/** A project that the user trusts, beside the workspace. */
const trusted = ({ root }: Ground) => path.join(root, "trusted");

function trusting(ground: Ground, level = "trusted", folder = trusted(ground)): VictimOptions {
  return { config: `[projects."${folder}"]\ntrust_level = "${level}"\n` };
}

/** The sandbox of a thread in this folder when the call does not set one. */
async function sandboxIn(victim: Victim, cwd: string): Promise<unknown> {
  const call = victim.server.call("codex", { prompt: "!say done", cwd });
  const configured = await call.event("session_configured");
  await call.result();
  return { sandbox: valueAt(configured, "sandbox_policy.type"), approval: valueAt(configured, "approval_policy") };
}

/** Ways to pass as a part of the trusted project. */
const FORGERIES: Readonly<Record<string, (ground: Ground) => void>> = {
  "a pointer to a folder of its own that names it": (ground) => {
    ground.write(ground.inWorkspace(".git"), "gitdir: ./.fake\n");
    ground.write(ground.inWorkspace(".fake/commondir"), `${trusted(ground)}/.git\n`);
    ground.write(ground.inWorkspace(".fake/HEAD"), "ref: refs/heads/main\n");
    ground.write(ground.inWorkspace(".fake/gitdir"), `${ground.inWorkspace(".git")}\n`);
  },
  "a pointer to the project's own repository": (ground) => {
    ground.write(ground.inWorkspace(".git"), `gitdir: ${trusted(ground)}/.git\n`);
  },
  "a pointer to a worktree of the project that is elsewhere": (ground) => {
    git(trusted(ground), "worktree", "add", "-q", path.join(ground.root, "tree"));
    ground.write(ground.inWorkspace(".git"), `gitdir: ${trusted(ground)}/.git/worktrees/tree\n`);
  },
};

/** The result of a reader that trusts the pointer. */
function believe(ground: Ground): void {
  ground.notes["sandbox"] = JSON.stringify({ sandbox: "workspace-write" });
}

describeAttacks("a repository", [
  ...Object.entries(FORGERIES).map(([how, forge], at): Attack => {
    return {
      name: `get the trust of another project by ${how}`,
      ...(at === 0 && { quick: true }),
      prepare: (ground) => {
        makeRepository(trusted(ground));
        forge(ground);
      },
      victim: trusting,
      attempt: async (ground, victim) => {
        ground.notes["sandbox"] = JSON.stringify(await sandboxIn(victim, ground.workspace));
      },
      gained: ({ notes }) => (notes["sandbox"]?.includes("workspace-write") ? ["trust"] : []),
      standIn: believe,
    };
  }),
  {
    name: "escape the rules for untrusted folders by an empty .git in a folder inside it",
    quick: true,
    prepare: (ground) => {
      makeRepository(ground.workspace);
      mkdirSync(ground.inWorkspace("sub/.git"), { recursive: true });
      mkdirSync(ground.inWorkspace("plain"));
    },
    victim: (ground) => trusting(ground, "untrusted", ground.workspace),
    attempt: async (ground, victim) => {
      const [plain, sub] = [await sandboxIn(victim, ground.inWorkspace("plain")), await sandboxIn(victim, ground.inWorkspace("sub"))];
      ground.notes["differs"] = JSON.stringify(plain) === JSON.stringify(sub) ? "" : `${JSON.stringify(plain)} and ${JSON.stringify(sub)}`;
    },
    gained: ({ notes }) => (notes["differs"] ? [`other rules: ${notes["differs"]}`] : []),
    standIn: (ground) => {
      ground.notes["differs"] = "the nearest .git counts";
    },
  },
]);

control("a real worktree of a trusted project is trusted", async () => {
  await using ground = await Ground.open();
  makeRepository(trusted(ground));
  git(trusted(ground), "worktree", "add", "-q", path.join(ground.root, "tree"));
  await using victim = await Victim.onStdio(ground, trusting(ground));
  expect(await sandboxIn(victim, trusted(ground))).toMatchObject({ sandbox: "workspace-write" });
  expect(await sandboxIn(victim, path.join(ground.root, "tree"))).toMatchObject({ sandbox: "workspace-write" });
});
