import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, symlinkSync, truncateSync } from "node:fs";
import path from "node:path";
import { expect } from "vitest";
import { type Attack, control, describeAttacks } from "./attack.js";
import { Ground } from "./ground.js";
import { makeRepository } from "./plants.js";
import { readNaively, runPlainly } from "./standIn.js";
import { answerIn, patching, tokenLines, Victim } from "./victim.js";

/** Files of a server that no turn may read. Each function creates one and returns its path. */
const TREASURES: Readonly<Record<string, (ground: Ground) => string>> = {
  credentials: (ground) => ground.hold(ground.inHome("auth.json"), `{"OPENAI_API_KEY":"${ground.secret("login")}"}\n`),
  "the token file": (ground) => ground.hold(path.join(ground.root, "keys/tokens"), tokenLines(ground)),
  "somebody's thread": (ground) =>
    ground.hold(ground.inHome("sessions/2026/01/02/rollout-2026-01-02T03-04-05-0.jsonl"), `{"text":"${ground.secret("thread")}"}\n`),
  "an archived thread": (ground) =>
    ground.hold(ground.inHome("archived_sessions/rollout-2026-01-02T03-04-05-0.jsonl"), `{"text":"${ground.secret("archived thread")}"}\n`),
  "the log": (ground) => ground.hold(ground.inHome("log/codex-tui.log"), `${ground.secret("log")}\n`),
  "the server's environment": (ground) => {
    ground.secret("api key");
    return "/proc/self/environ";
  },
};

/** On stdio the model may read all files of the user, whatever their names. */
function usuallyOn(treasure: string): "stdio" | "port" {
  return ["the token file", "somebody's thread", "an archived thread"].includes(treasure) ? "port" : "stdio";
}

/** Reads the target without protection. The environment of this process is not the server's, so its secret is recorded directly. */
function readTreasure(ground: Ground): void {
  const file = ground.notes["target"] ?? "";
  if (file === "/proc/self/environ") ground.see("what was read", ground.secret("api key"));
  else readNaively(ground, file);
}

const ADD_AT_END = ["@@", "+x", "*** End of File"];

/** Ways in which a patch can use a name that leads to the target; each has a link of its own. */
const PATCHES: readonly ((at: { readonly target: string; readonly link: string }) => readonly string[])[] = [
  ({ link }) => [`*** Update File: ${link}`, `*** Move to: ${link}-copy.txt`, ...ADD_AT_END],
  ({ link }) => [`*** Update File: ${link}`, ...ADD_AT_END],
  ({ link }) => [`*** Delete File: ${link}`],
  ({ target }) => [`*** Delete File: folder/${path.basename(target)}`],
  ({ target, link }) => [`*** Update File: ${target}`, `*** Move to: ${link}-copy.txt`, ...ADD_AT_END],
  ({ target }) => [`*** Delete File: ${target}`],
  ({ target, link }) => [`*** Add File: ${link}`, "+x", `*** Delete File: folder/${path.basename(target)}`],
];

function linkTo(ground: Ground, target: string): void {
  for (const at of PATCHES.keys()) symlinkSync(target, ground.inWorkspace(`link${at}`));
  symlinkSync(path.dirname(target), ground.inWorkspace("folder"));
}

function patchAttack(treasure: string, policy: string, on = usuallyOn(treasure)): Attack {
  return {
    name: `read ${treasure} by patches of the file and of links to it, under ${policy}${on === "port" ? ", over the network" : ""}`,
    ...(treasure === "the token file" && policy === "never" && { quick: true }),
    on,
    // The client declines, so only the text of the question could leak.
    victim: { answer: { decision: "denied" } },
    prepare: (ground) => {
      ground.notes["target"] = TREASURES[treasure]?.(ground) ?? "";
      linkTo(ground, ground.notes["target"]);
    },
    attempt: async ({ notes }, victim) => {
      const patches = PATCHES.map((patch, at) => patching(...patch({ target: notes["target"] ?? "", link: `link${at}` })));
      if (on === "stdio") for (const patch of patches) await victim.turn(patch, { "approval-policy": policy });
      if (on === "stdio") return;
      using alice = await victim.as("alice");
      for (const patch of patches) await alice.turn(patch, { "approval-policy": policy });
    },
    standIn: (ground) => readTreasure(ground),
  };
}

describeAttacks("a model", [
  ...Object.keys(TREASURES).flatMap((treasure) => [patchAttack(treasure, "never"), patchAttack(treasure, "on-request")]),
  patchAttack("the server's environment", "never", "port"),
  {
    name: "make itself operator by a patch of the token file",
    on: "port",
    mayRefuseToStart: true,
    prepare: (ground) => ground.hold(ground.inWorkspace("tokens"), tokenLines(ground)),
    victim: (ground) => ({ tokenFile: ground.inWorkspace("tokens") }),
    attempt: async (_, victim) => {
      using alice = await victim.as("alice");
      await alice.turn(patching("*** Update File: tokens", "@@", "+mallory 0123456789012345678901 operator", "*** End of File"));
      await alice.runs("echo mallory 0123456789012345678901 operator >> tokens; cat tokens");
    },
    gained: (ground) => (contentOf(ground.inWorkspace("tokens")).includes("mallory") ? ["a token of its own"] : []),
    standIn: (ground) => runPlainly(ground, "echo mallory 0123456789012345678901 operator >> tokens; cat tokens"),
  },
]);

function contentOf(file: string): string {
  return execFileSync("cat", [file], { encoding: "utf8" });
}

const OTHER_INSTRUCTIONS = ["AGENTS.override.md", "sub/AGENTS.md"] as const;

function instructionsAttack(treasure: string, name: string, on: "stdio" | "port"): Attack {
  return {
    name: `get ${treasure} to the model through a link named ${name}${on === "port" ? ", over the network" : ""}`,
    ...(treasure === "the server's environment" && name === "AGENTS.md" && { quick: true }),
    on,
    prepare: (ground) => {
      ground.notes["target"] = TREASURES[treasure]?.(ground) ?? "";
      makeRepository(ground.workspace);
      mkdirSync(ground.inWorkspace("sub"));
      symlinkSync(ground.notes["target"], ground.inWorkspace(name));
    },
    attempt: async (ground, victim) => {
      const cwd = ground.inWorkspace("sub");
      if (on === "stdio") return victim.turn("!say done", { cwd });
      using alice = await victim.as("alice");
      return alice.turn("!say done", { cwd });
    },
    standIn: (ground) => readTreasure(ground),
  };
}

describeAttacks("a repository", [
  ...Object.keys(TREASURES).map((treasure) => instructionsAttack(treasure, "AGENTS.md", usuallyOn(treasure))),
  ...OTHER_INSTRUCTIONS.map((name) => instructionsAttack("the token file", name, "port")),
  {
    name: "get a file of the user to the model through an AGENTS.md that links out of the repository",
    prepare: (ground) => {
      ground.hold(path.join(ground.home, ".ssh/id_ed25519"), ground.secret("private key"));
      symlinkSync(path.join(ground.home, ".ssh/id_ed25519"), ground.inWorkspace("AGENTS.md"));
    },
    attempt: (_, victim) => victim.turn("!say done"),
    standIn: (ground) => readNaively(ground, ground.inWorkspace("AGENTS.md")),
  },
  {
    name: "get a file of the user to the model through a chain of links",
    prepare: (ground) => {
      ground.hold(path.join(ground.home, "notes/AGENTS.md"), ground.secret("notes"));
      symlinkSync("inner", ground.inWorkspace("chain"));
      symlinkSync(path.join(ground.home, "notes/AGENTS.md"), ground.inWorkspace("inner"));
      symlinkSync("chain", ground.inWorkspace("AGENTS.md"));
    },
    attempt: (_, victim) => victim.turn("!say done"),
    standIn: (ground) => readNaively(ground, ground.inWorkspace("AGENTS.md")),
  },
  {
    name: "get a file to the model through a configured name for instruction files",
    prepare: (ground) => {
      const target = TREASURES["credentials"]?.(ground) ?? "";
      symlinkSync(target, ground.inWorkspace("CLAUDE.md"));
    },
    victim: { wholeConfig: (url) => `project_doc_fallback_filenames = ["CLAUDE.md"]\n${plainConfig(url)}` },
    attempt: (_, victim) => victim.turn("!say done"),
    standIn: (ground) => readNaively(ground, ground.inWorkspace("CLAUDE.md")),
  },
]);

function plainConfig(url: string): string {
  return `model = "mock-model"\nmodel_provider = "mock"\n[model_providers.mock]\nname = "mock"\nbase_url = "${url}"\nwire_api = "responses"\n`;
}

/** Node has no function for the system call that exchanges two names atomically. */
const EXCHANGE = `my ($a, $b) = @ARGV; $| = 1; while (1) { syscall(${process.arch === "arm64" ? 276 : 316}, -100, $a, -100, $b, 2); print "." unless $n++; select(undef, undef, undef, 0.0003) }`;
const SWAPPED_TIMES = 40;

/** A file that is a link to credentials half of the time. */
async function keepSwapping(ground: Ground, name: string): Promise<void> {
  const target = TREASURES["credentials"]?.(ground) ?? "";
  ground.write(ground.inWorkspace(name), "plain\n");
  symlinkSync(target, ground.inWorkspace("other"));
  const swapping = spawn("perl", ["-e", EXCHANGE, ground.inWorkspace(name), ground.inWorkspace("other")], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  ground.atTheEnd(() => swapping.kill("SIGKILL"));
  await once(swapping.stdout, "data");
}

const SWAPPED: Readonly<Record<string, { readonly name: string; readonly act: (victim: Victim, round: number) => Promise<unknown> }>> = {
  "a patch": { name: "swapped.txt", act: (victim) => victim.turn(patching("*** Update File: swapped.txt", "@@", "+x", "*** End of File")) },
  instructions: { name: "AGENTS.md", act: (victim) => victim.turn("!say done") },
  "an image": { name: "swapped.png", act: (victim) => victim.turn('!call view_image {"path":"swapped.png"}\n!say done') },
};

describeAttacks(
  "a file that is exchanged for a link all the time",
  Object.entries(SWAPPED).map(([reader, { name, act }]): Attack => {
    return {
      name: `have credentials read as ${reader}`,
      prepare: (ground) => keepSwapping(ground, name),
      attempt: async (_, victim) => {
        for (let round = 0; round < SWAPPED_TIMES; round++) await act(victim, round);
      },
      standIn: (ground) => {
        for (let round = 0; round < 10 * SWAPPED_TIMES && ground.leaks().length === 0; round++) readSwapped(ground, name);
      },
    };
  }),
);

/** Without an atomic exchange, the name is missing for a moment. */
function readSwapped(ground: Ground, name: string): void {
  try {
    readNaively(ground, ground.inWorkspace(name));
  } catch {
    // The next attempt finds it.
  }
}

/** Files that never end, need all memory, or block when opened. */
const ENDLESS: Readonly<Record<string, (file: string) => unknown>> = {
  "a list of the process's pages": (file) => symlinkSync("/proc/self/pagemap", file),
  "a file of 2 GiB without content": (file) => truncateSync(emptyFile(file), 2 * 1024 ** 3 - 4096),
  "a pipe that nobody writes": (file) => execFileSync("mkfifo", [file]),
  "a device that never ends": (file) => symlinkSync("/dev/zero", file),
};

function emptyFile(file: string): string {
  execFileSync("touch", [file]);
  return file;
}

/** Files that the server reads by itself, or because the model asks for them. */
const READERS: Readonly<Record<string, { readonly name: string; readonly act: (victim: Victim) => Promise<unknown> }>> = {
  instructions: { name: "AGENTS.md", act: (victim) => victim.turn("!say done") },
  "a repository's pointer": { name: ".git", act: (victim) => victim.turn("!say done") },
  "an image": { name: "big.png", act: (victim) => victim.turn('!call view_image {"path":"big.png"}\n!say done') },
  "a patch": { name: "big.txt", act: (victim) => victim.turn(patching("*** Update File: big.txt", ...ADD_AT_END)) },
  "a patch that deletes": { name: "big.txt", act: (victim) => victim.turn(patching("*** Delete File: big.txt")) },
};

/** A separate process tests whether the file is endless; reading it in this process would block the tests. */
const IS_ENDLESS = [
  'e() { if [ -p "$1" ]; then timeout 1 head -c 1 "$1"; [ $? = 124 ] && echo ENDLESS',
  'else [ $(head -c 6000000 "$1" | wc -c) = 6000000 ] && echo ENDLESS; fi; }; e',
].join("; ");

describeAttacks(
  "endless files",
  Object.entries(ENDLESS).flatMap(([what, make]) =>
    Object.entries(READERS).map(([reader, { name, act }]): Attack => {
      return {
        name: `stop the server by ${what} as ${reader}`,
        ...(what === "a list of the process's pages" && reader === "instructions" && { quick: true }),
        prepare: (ground) => make(ground.inWorkspace(name)),
        attempt: (_, victim) => act(victim),
        standIn: (ground) => runPlainly(ground, `${IS_ENDLESS} ${name}`),
        gained: (ground) => (ground.saw("ENDLESS") ? ["a reader that never came back"] : []),
      };
    }),
  ),
);

describeAttacks(
  "an image",
  Object.entries(TREASURES).flatMap(([treasure, place]) =>
    (["its own name", "a link"] as const).map((how): Attack => {
      return {
        name: `show ${treasure} by ${how}`,
        on: usuallyOn(treasure),
        ...(treasure === "the server's environment" && how === "its own name" && { quick: true }),
        prepare: (ground) => {
          ground.notes["target"] = place(ground);
          symlinkSync(ground.notes["target"], ground.inWorkspace("p.png"));
        },
        attempt: async ({ notes }, victim) => {
          const prompt = `!call view_image ${JSON.stringify({ path: how === "a link" ? "p.png" : notes["target"] })}\n!say done`;
          if (usuallyOn(treasure) === "stdio") return victim.turn(prompt);
          using alice = await victim.as("alice");
          return alice.turn(prompt);
        },
        standIn: (ground) => readTreasure(ground),
      };
    }),
  ),
);

describeAttacks(
  "a caller",
  ["model_instructions_file", "experimental_instructions_file", "experimental_compact_prompt_file"].map((key): Attack => {
    return {
      name: `read the token file through ${key}, which the operator lets callers set`,
      on: "port",
      mayRefuseToStart: true,
      victim: { args: ["--allow-config", key] },
      attempt: async (ground, victim) => {
        using alice = await victim.as("alice");
        await alice.turn("!say done", { config: { [key]: path.join(ground.root, "keys/tokens") } });
        await alice.turn("!say done", { config: { [key]: "/proc/self/environ" } });
      },
      standIn: (ground) => readNaively(ground, ground.hold(path.join(ground.root, "keys/tokens"), tokenLines(ground))),
    };
  }),
);

control("instructions of an honest repository reach the model, even by a link that stays in it", async () => {
  await using ground = await Ground.open();
  makeRepository(ground.workspace);
  ground.write(ground.inWorkspace("docs/rules.md"), "be kind to the tests\n");
  ground.write(ground.inWorkspace("sub/AGENTS.md"), "be brief in here\n");
  symlinkSync("docs/rules.md", ground.inWorkspace("AGENTS.md"));
  await using victim = await Victim.onStdio(ground);
  expect(answerIn(await victim.turn("!say done", { cwd: ground.inWorkspace("sub") }))).toBe("done");
  const asked = JSON.stringify(victim.model.requests[0]?.body);
  expect([asked.includes("be kind to the tests"), asked.includes("be brief in here")]).toEqual([true, true]);
});
