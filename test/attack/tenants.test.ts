import { existsSync, readdirSync, readFileSync, symlinkSync } from "node:fs";
import path from "node:path";
import { expect } from "vitest";
import { valueAt } from "../support/scenarios/scenario.js";
import { type Attack, control, describeAttacks } from "./attack.js";
import { Ground } from "./ground.js";
import { readNaively, runPlainly } from "./standIn.js";
import { answerIn, type PortClient, patching, Victim } from "./victim.js";

/** Files in the home of the server's user that no network caller may see. */
const AT_HOME = [
  ".ssh/id_ed25519",
  ".aws/credentials",
  ".config/gh/hosts.yml",
  ".netrc",
  ".npmrc",
  ".docker/config.json",
  ".kube/config",
  ".gnupg/private-keys-v1.d/key",
  ".bash_history",
  "Documents/letter.txt",
  "projects/bobs/secret.txt",
] as const;

function furnishHome(ground: Ground): void {
  for (const name of AT_HOME) ground.hold(path.join(ground.home, name), ground.secret(`~/${name}`));
}

const readHome = ({ home }: Ground) =>
  `find '${home}' -type f -exec cat {} + 2>/dev/null; cat ${AT_HOME.map((name) => `'${home}/${name}'`).join(" ")}`;

describeAttacks("a caller", [
  {
    name: "read the home of the server's user by a command",
    quick: true,
    on: "port",
    prepare: furnishHome,
    attempt: async (ground, victim) => {
      using alice = await victim.as("alice");
      await alice.runs(readHome(ground));
      await alice.runs(readHome(ground), { sandbox: "read-only" });
      await alice.call("codex-exec", { command: ["bash", "-c", readHome(ground)] });
    },
    standIn: (ground) => runPlainly(ground, readHome(ground)),
  },
  {
    name: "read the home of the server's user by a patch, an image or instructions",
    on: "port",
    victim: { answer: { decision: "denied" } },
    prepare: (ground) => {
      furnishHome(ground);
      return runPlainly(ground, `ln -s '${ground.home}/.ssh/id_ed25519' AGENTS.md; ln -s '${ground.home}/.netrc' link`);
    },
    attempt: async (ground, victim) => {
      using alice = await victim.as("alice");
      const key = path.join(ground.home, ".ssh/id_ed25519");
      for (const policy of ["never", "on-request"]) {
        const args = { "approval-policy": policy };
        await alice.turn(patching("*** Update File: link", "*** Move to: copy.txt", "@@", "+x", "*** End of File"), args);
        await alice.turn(patching(`*** Delete File: ${key}`), args);
        await alice.turn(`!call view_image ${JSON.stringify({ path: key })}\n!say done`, args);
      }
    },
    standIn: (ground) => readNaively(ground, path.join(ground.home, ".ssh/id_ed25519")),
  },
  {
    name: "find out which folders exist where its commands may not look",
    quick: true,
    on: "port",
    prepare: (ground) => {
      furnishHome(ground);
      symlinkSync(path.join(ground.home, ".ssh"), ground.inWorkspace("linked"));
      symlinkSync(path.join(ground.home, "none"), ground.inWorkspace("dangling"));
    },
    attempt: async (ground, victim) => {
      using alice = await victim.as("alice");
      const answers: string[] = [];
      for (const workdir of [`${ground.home}/.ssh`, `${ground.home}/none`, `${ground.home}/.netrc`, "linked", "dangling"]) {
        const before = victim.model.requests.length;
        await alice.turn(`!call shell ${JSON.stringify({ command: ["true"], workdir })}\n!say done`);
        const told = victim.model.requests
          .slice(before)
          .flatMap(({ body }) => body.input.filter(({ type }) => type === "function_call_output"));
        answers.push(JSON.stringify(valueAt(told.at(-1), "output")).replaceAll(path.resolve(ground.workspace, workdir), "FOLDER"));
      }
      if (!answers[0]?.includes("FOLDER")) throw new Error(`The folder was not looked for: ${answers[0]}`);
      if (new Set(answers).size > 1) ground.see("the answers", "FOUND-IT");
    },
    gained: (ground) => (ground.saw("FOUND-IT") ? ["the names of hidden folders"] : []),
    standIn: (ground) => runPlainly(ground, `[ -d '${ground.home}/.ssh' ] && ! [ -d '${ground.home}/none' ] && echo FOUND-IT`),
  },
  {
    name: "read what another caller's command left in /tmp",
    quick: true,
    on: "port",
    attempt: async (ground, victim) => {
      const name = path.basename(ground.root);
      ground.atTheEnd(() => runPlainly(ground, `rm -f /tmp/${name}*`));
      using bob = await victim.as("bob");
      await bob.runs(`echo his > /tmp/${name}-of-bob; chmod 666 /tmp/${name}-of-bob`);
      using alice = await victim.as("alice");
      await alice.runs(`cat /tmp/${name}* && echo FOUND-IT; echo x > /tmp/${name}-of-alice`);
    },
    gained: (ground) => (ground.saw("FOUND-IT") ? ["a file of another caller"] : []),
    standIn: (ground) => {
      const name = path.basename(ground.root);
      ground.atTheEnd(() => runPlainly(ground, `rm -f /tmp/${name}*`));
      return runPlainly(ground, `echo x > /tmp/${name}-of-bob; cat /tmp/${name}* && echo FOUND-IT`);
    },
  },
  {
    name: "change what another caller's command left in the folder that TMPDIR names",
    on: "port",
    victim: (ground) => ({ env: { TMPDIR: ground.tmp } }),
    attempt: async (ground, victim) => {
      using bob = await victim.as("bob");
      await bob.runs(`mkdir -p "$TMPDIR"; echo his > "$TMPDIR/of-bob"; chmod -R 777 "$TMPDIR"; cat "$TMPDIR/of-bob"`);
      using alice = await victim.as("alice");
      await alice.runs(
        `for d in "$TMPDIR" '${ground.tmp}' /tmp; do grep -rqs his "$d/of-bob" && echo hers > "$d/of-bob" && echo CHANGED-IT; done`,
      );
    },
    gained: (ground) => (ground.saw("CHANGED-IT") ? ["a file of another caller"] : []),
    standIn: (ground) =>
      runPlainly(ground, `cd '${ground.tmp}'; echo his > of-bob; grep -rqs his of-bob && echo hers > of-bob && echo CHANGED-IT`),
  },
  {
    name: "leave something in /tmp of the machine for others to run",
    on: "port",
    attempt: async (ground, victim) => {
      using alice = await victim.as("alice");
      await alice.runs(`echo x > /tmp/${path.basename(ground.root)}-left`);
    },
    gained: leftInTmp,
    standIn: (ground) => runPlainly(ground, `echo x > /tmp/${path.basename(ground.root)}-left`),
  },
  {
    name: "work in a folder that no root of the server holds",
    on: "port",
    prepare: furnishHome,
    attempt: async (ground, victim) => {
      using alice = await victim.as("alice");
      for (const cwd of [ground.home, path.join(ground.home, "projects/bobs"), "/", ground.root, `${ground.workspace}/../home`])
        await alice.turn("!shell cat secret.txt .netrc; touch made-by-alice\n!say done", { cwd });
    },
    standIn: (ground) => runPlainly(ground, `cat '${ground.home}/.netrc'`),
  },
  {
    name: "read another caller's workspace beside the only root",
    on: "port",
    prepare: (ground) => {
      ground.hold(path.join(ground.home, "work/bob/secret.txt"), ground.secret("of bob's workspace"));
      ground.write(path.join(ground.home, "work/alice/mine.txt"), "hers");
    },
    victim: (ground) => ({ args: ["--allow-root", path.join(ground.home, "work/alice")] }),
    attempt: async (ground, victim) => {
      using alice = await victim.as("alice");
      await alice.runs("cat ../bob/secret.txt", { cwd: path.join(ground.home, "work/alice") });
      await alice.turn("!shell cat secret.txt\n!say done", { cwd: path.join(ground.home, "work/bob") });
    },
    standIn: (ground) => readNaively(ground, path.join(ground.home, "work/bob/secret.txt")),
  },
]);

/** A folder per caller, outside every home. */
const folderOf = ({ root }: Ground, who: string) => path.join(root, "work", who);

function furnishRoots(ground: Ground): void {
  const [hers, his] = [folderOf(ground, "alice"), folderOf(ground, "bob")];
  ground.hold(path.join(his, "secret.txt"), ground.secret("of bob's folder"));
  ground.hold(path.join(his, "AGENTS.md"), ground.secret("of bob's instructions"));
  ground.write(path.join(hers, "mine.txt"), "hers");
  for (const [name, target] of Object.entries({ link: "../bob/secret.txt", folder: "../bob", "AGENTS.md": "../bob/secret.txt" }))
    symlinkSync(target, path.join(hers, name));
}

const changedHis = (ground: Ground) =>
  readdirSync(folderOf(ground, "bob")).sort().join() === "AGENTS.md,secret.txt" ? [] : ["bob's folder changed"];

const INTO_HIS: Readonly<Record<string, (alice: PortClient, at: { readonly hers: string; readonly his: string }) => Promise<unknown>>> = {
  "a command": (alice, { hers, his }) =>
    alice.runs(`cat ../bob/* folder/* '${his}'/*; echo x > ../bob/made; echo x > '${his}/made'`, { cwd: hers }),
  "a read-only command": (alice, { hers, his }) => alice.runs(`cat ../bob/* folder/* '${his}'/*`, { cwd: hers, sandbox: "read-only" }),
  "a command of her own": (alice, { hers, his }) =>
    alice.call("codex-exec", { command: ["bash", "-c", `cat '${his}'/*; touch '${his}/made'`], cwd: hers, sandbox: "workspace-write" }),
  "working there": async (alice, { hers, his }) => {
    for (const cwd of [his, `${hers}/folder`, `${hers}/../bob`, `${hers}/folder/.`])
      for (const [tool, args] of [
        ["codex", { prompt: "!shell cat *; touch made\n!say done", sandbox: "workspace-write", "approval-policy": "never" }],
        ["codex-exec", { command: ["bash", "-c", "cat *; touch made"], sandbox: "workspace-write" }],
        ["codex-review", { target: "custom", instructions: "!shell cat *\n!say done" }],
        ["codex-config", {}],
      ] as const)
        await alice.call(tool, { ...args, cwd });
  },
  "patches and images": async (alice, { hers, his }) => {
    for (const policy of ["never", "on-request"]) {
      const args = { cwd: hers, "approval-policy": policy };
      await alice.turn(patching("*** Update File: link", "*** Move to: copy.txt", "@@", "+x", "*** End of File"), args);
      await alice.turn(patching("*** Delete File: folder/secret.txt"), args);
      await alice.turn(patching(`*** Add File: ${his}/made`, "+x"), args);
      await alice.turn(patching("*** Add File: folder/made", "+x"), args);
      await alice.turn('!call view_image {"path":"link"}\n!say done', args);
    }
  },
};

describeAttacks(
  "a caller with a folder of her own",
  Object.entries(INTO_HIS).map(([how, act]): Attack => {
    return {
      name: `get into the folder of another by ${how}`,
      on: "port",
      prepare: furnishRoots,
      victim: (ground) => ({ roots: { alice: folderOf(ground, "alice"), bob: folderOf(ground, "bob") }, answer: { decision: "denied" } }),
      attempt: async (ground, victim) => {
        using alice = await victim.as("alice");
        await act(alice, { hers: folderOf(ground, "alice"), his: folderOf(ground, "bob") });
      },
      gained: changedHis,
      standIn: (ground) => runPlainly(ground, `cat '${folderOf(ground, "bob")}/secret.txt'`),
    };
  }),
);

control("a caller with a folder of their own works there", async () => {
  await using ground = await Ground.open();
  furnishRoots(ground);
  await using victim = await Victim.onPort(ground, { roots: { alice: folderOf(ground, "alice"), bob: folderOf(ground, "bob") } });
  using bob = await victim.as("bob");
  await bob.runs("cat secret.txt > copy.txt", { cwd: folderOf(ground, "bob") });
  expect(readFileSync(path.join(folderOf(ground, "bob"), "copy.txt"), "utf8")).toBe(ground.secret("of bob's folder"));
});

function leftInTmp(ground: Ground): string[] {
  const file = `/tmp/${path.basename(ground.root)}-left`;
  if (!existsSync(file)) return [];
  ground.atTheEnd(() => runPlainly(ground, `rm -f '${file}'`));
  return ["a file in /tmp"];
}

control("callers still have their toolchain, git's configuration, their roots and a /tmp of their own", async () => {
  await using ground = await Ground.open();
  ground.write(path.join(ground.home, ".gitconfig"), "[user]\n\tname = from-the-configuration\n");
  await using victim = await Victim.onPort(ground);
  using alice = await victim.as("alice");
  const script =
    'node --version && git config user.name && echo x > /tmp/mine && cat /tmp/mine && echo y > "$PWD/made.txt" && echo ALL-WELL';
  expect(answerIn(await alice.runs(script))).toBe("done");
  const output = JSON.stringify(victim.model.requests.at(-1)?.body);
  expect([output.includes("from-the-configuration"), output.includes("ALL-WELL"), ground.has("made.txt")]).toEqual([true, true, true]);
});
