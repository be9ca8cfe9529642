import { mkdirSync, symlinkSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { expect } from "vitest";
import { MAIN } from "../support/processes/mcpServer.js";
import { runToEnd } from "../support/processes/runToEnd.js";
import { valueAt } from "../support/scenarios/scenario.js";
import { type Attack, control, describeAttacks } from "./attack.js";
import { Ground } from "./ground.js";
import { makeRepository, PROGRAMS, plantingCommand, plantPackage, plantProgram, plantPrograms } from "./plants.js";
import { pathInProject, runByName, runPlainly } from "./standIn.js";
import { answerIn, running, Victim } from "./victim.js";

/** More calls than the server has prepared pipes for. */
const MANY = 12;
const FULL_ACCESS = { sandbox: "danger-full-access" };
const OFFICIAL_SERVER = fileURLToPath(new URL("../programs/mcpServerOfficial.mjs", import.meta.url));

async function manyAtOnce(victim: Victim, args: Readonly<Record<string, unknown>> = {}): Promise<void> {
  const command = ["/bin/sleep", "0.3"];
  const results = await Promise.all(Array.from({ length: MANY }, () => victim.call("codex-exec", { command, ...args })));
  if (results.some((result) => valueAt(result, "structuredContent.exitCode") !== 0))
    throw new Error(`a command did not run: ${JSON.stringify(results)}`);
}

/** Every program is planted in the project, and PATH is as `npx` sets it. */
type Trigger = Omit<Attack, "on" | "prepare" | "standIn"> & { readonly also?: (ground: Ground) => unknown };

function planted({ also, ...trigger }: Trigger): Attack {
  return {
    victim: (ground) => ({ env: { PATH: pathInProject(ground) } }),
    ...trigger,
    prepare: async (ground) => {
      plantPrograms(ground);
      await also?.(ground);
    },
    standIn: (ground) => runByName(ground, "mkfifo", pathInProject(ground)),
  };
}

const mcpServer = (command: string, args: readonly string[]) =>
  `[mcp_servers.other]\ncommand = "${command}"\nargs = ${JSON.stringify(args)}\n`;

describeAttacks("programs planted in the workspace", [
  planted({
    name: "run outside while many commands run in parallel",
    quick: true,
    attempt: (_, victim) => manyAtOnce(victim),
  }),
  planted({
    name: "run outside while many commands with full access run in parallel",
    attempt: (_, victim) => manyAtOnce(victim, FULL_ACCESS),
  }),
  planted({
    name: "run outside when a thread in a repository begins, goes on and is reviewed",
    also: ({ workspace }) => makeRepository(workspace),
    attempt: async (ground, victim) => {
      await victim.turn("!shell /bin/true\n!patch made.txt hello\n!say done");
      await victim.call("codex-review", { target: "uncommitted" });
      await victim.call("codex-review", { target: "branch", branch: "main" });
      await victim.turn("!shell /bin/true\n!say done", { ...FULL_ACCESS, cwd: ground.workspace });
    },
  }),
  planted({
    name: "run outside for a command on a terminal",
    victim: (ground) => ({ env: { PATH: pathInProject(ground) }, args: ["--enable", "unified_exec"] }),
    attempt: async (_, victim) => {
      const call = `!call exec_command ${JSON.stringify({ cmd: "/bin/true", tty: true })}\n!say done`;
      await victim.turn(call);
      await victim.turn(call, FULL_ACCESS);
    },
  }),
  planted({
    name: "run outside in place of what an MCP server's command names",
    quick: true,
    victim: (ground) => ({ env: { PATH: pathInProject(ground) }, config: mcpServer("node", [OFFICIAL_SERVER]) }),
    attempt: (_, victim) => victim.turn('!call mcp__other__greet {"name":"you"}\n!say done'),
  }),
  planted({
    name: "run outside in place of the npx of an MCP server",
    victim: (ground) => ({
      env: { PATH: pathInProject(ground) },
      config: mcpServer("npx", ["--offline", "--no-install", "nothing-like-it"]),
    }),
    attempt: (_, victim) => victim.turn("!say done"),
  }),
  planted({
    name: "run outside when the server is asked for models, settings, the account and threads",
    attempt: async (_, victim) => {
      await victim.turn("!say done");
      for (const [tool, args] of [
        ["codex-models", {}],
        ["codex-config", {}],
        ["codex-account", { action: "state" }],
        ["codex-threads", { action: "list" }],
      ] as const)
        await victim.call(tool, args);
    },
  }),
  planted({
    name: "run outside when the server looks for a Codex by itself",
    quick: true,
    victim: (ground) => ({ engine: "auto", env: { PATH: pathInProject(ground) } }),
    attempt: (_, victim) => victim.turn("!say done"),
  }),
  planted({
    name: "run outside when the doctor looks around",
    attempt: async (ground) => {
      const env = { PATH: pathInProject(ground), HOME: ground.home, CODEX_HOME: ground.codexHome };
      await runToEnd([process.execPath, MAIN, "doctor"], { cwd: ground.workspace, env });
    },
  }),
]);

/** Folders of the search path that commands may write although they do not look like it. */
const SEARCH_PATHS: readonly (readonly [string, (ground: Ground) => string])[] = [
  ["a folder of the search path that is a link into the workspace", (ground) => linked(ground, ground.inWorkspace("node_modules/.bin"))],
  ["a program of the search path that is a link into the workspace", (ground) => linkedPrograms(ground)],
  ["the search path's entry for the working folder", (ground) => here(ground, ".")],
  ["an empty entry of the search path", (ground) => here(ground, "")],
  ["a relative entry of the search path", () => "node_modules/.bin"],
  ["an entry of the search path that goes up and down again", (ground) => `${ground.root}/home/../ws/node_modules/.bin`],
];

function linked(ground: Ground, target: string): string {
  const link = path.join(ground.root, "bin");
  mkdirSync(target, { recursive: true });
  symlinkSync(target, link);
  return link;
}

function linkedPrograms(ground: Ground): string {
  const folder = path.join(ground.root, "bin");
  mkdirSync(folder);
  for (const name of PROGRAMS) symlinkSync(ground.inWorkspace("node_modules/.bin", name), path.join(folder, name));
  return folder;
}

function here(ground: Ground, entry: string): string {
  plantPrograms(ground, ground.workspace);
  return entry;
}

describeAttacks("programs planted in the workspace", [
  ...SEARCH_PATHS.map(([what, entryOf]): Attack => {
    const usual = "/usr/local/bin:/usr/bin:/bin";
    return {
      name: `run outside by ${what}`,
      prepare: (ground) => {
        plantPrograms(ground);
        ground.notes["entry"] = entryOf(ground);
      },
      victim: ({ notes }) => ({ env: { PATH: `${notes["entry"]}:${usual}` } }),
      attempt: (_, victim) => manyAtOnce(victim),
      standIn: (ground) => runByName(ground, "mkfifo", `${ground.notes["entry"]}:${usual}`),
    };
  }),
  {
    name: "run outside when a command planted them itself",
    victim: (ground) => ({ env: { PATH: pathInProject(ground) } }),
    attempt: async (ground, victim) => {
      for (const name of ["mkfifo", "bwrap", "setpriv", "unshare"])
        await victim.runs(plantingCommand(ground, ground.inWorkspace("node_modules/.bin"), name));
      await manyAtOnce(victim);
    },
    standIn: async (ground) => {
      await runPlainly(ground, plantingCommand(ground, ground.inWorkspace("node_modules/.bin"), "mkfifo"));
      await runByName(ground, "mkfifo", pathInProject(ground));
    },
  },
  {
    name: "run outside from a temporary folder that is on the search path",
    victim: (ground) => ({ env: { PATH: `${ground.tmp}/bin:${pathInProject(ground)}`, TMPDIR: ground.tmp } }),
    prepare: (ground) => plantProgram(ground, path.join(ground.tmp, "bin"), "mkfifo"),
    attempt: (_, victim) => manyAtOnce(victim),
    standIn: (ground) => runByName(ground, "mkfifo", `${ground.tmp}/bin`),
  },
  {
    name: "have a package of the workspace run by the npx of an MCP server",
    prepare: (ground) => plantPackage(ground, "tools-for-all"),
    victim: { config: mcpServer("npx", ["--offline", "-y", "tools-for-all"]) },
    attempt: (_, victim) => victim.turn("!say done"),
    standIn: (ground) => runPlainly(ground, "npx --offline -y tools-for-all"),
  },
  {
    name: "have a package of a caller's folder run by the npx of the operator's MCP server",
    on: "port",
    prepare: (ground) => plantPackage(ground, "tools-for-all"),
    victim: { config: mcpServer("npx", ["--offline", "-y", "tools-for-all"]) },
    attempt: async (ground, victim) => {
      using alice = await victim.as("alice");
      await alice.turn("!say done", { cwd: ground.workspace });
    },
    standIn: (ground) => runPlainly(ground, "npx --offline -y tools-for-all"),
  },
]);

control("MCP servers named by a bare word, commands and full access still work in a project with planted programs", async () => {
  await using ground = await Ground.open();
  plantPrograms(ground);
  await using victim = await Victim.onStdio(ground, { env: { PATH: pathInProject(ground) }, config: mcpServer("node", [OFFICIAL_SERVER]) });
  const greeted = await victim.turn('!call mcp__other__greet {"name":"you"}\n!say done');
  const ran = await victim.turn(running("/bin/echo made > made.txt; cat made.txt"), FULL_ACCESS);
  expect([answerIn(greeted), answerIn(ran), ground.saw("hello you")]).toEqual(["done", "done", true]);
});
