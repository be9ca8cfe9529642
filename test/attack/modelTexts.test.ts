import { writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { type Attack, describeAttacks } from "./attack.js";
import type { Ground } from "./ground.js";
import { isStopped, runPlainly, tryNaively } from "./standIn.js";
import { answerIn, patching, type Victim } from "./victim.js";

/** Scripts that are slow to parse, because the grammar tries to interpret each of the parentheses. */
const SLOW_SCRIPTS = Array.from({ length: 45 }, (_, at) => `eval 'a${at} ${"{((".repeat(5_000)}'`).join("; ");
/** Without a limit, the grammar takes two gigabytes to parse it, and cannot be used after that. */
const ENDLESS_SCRIPT = "ls|".repeat(20_000);
/** The longest time that another caller may have to wait. */
const MOST_WAITING_MS = 15_000;

/** Runs the prompt for one caller, while another caller checks that the server answers. */
async function doneBeside(ground: Ground, victim: Victim, prompt: string): Promise<void> {
  using alice = await victim.as("alice");
  let isOver = false;
  const turn = alice.turn(prompt).finally(() => {
    isOver = true;
  });
  while (!isOver) {
    const isAnswered = await fetch(`${victim.url}/healthz`, { signal: AbortSignal.timeout(MOST_WAITING_MS) }).then(
      () => true,
      () => false,
    );
    if (!isAnswered) ground.see("another caller", "ENDLESS");
    if (!isAnswered) break;
  }
  await turn;
}

/** With a rule that forbids a command, the server reads each script several times. */
const forbidding = (ground: Ground) =>
  ground.write(ground.inHome("rules/own.rules"), 'prefix_rule(pattern=["rm"], decision="forbidden")\n');

const calling = (tool: string, args: unknown) => `!call ${tool} ${JSON.stringify(args)}\n!say done`;
const inBash = (script: string) => calling("shell", { command: ["bash", "-c", script] });

const MANY_ACTIONS = 20_000;
const MANY_FOLDERS = 60_000;
const MANY_LINES = 300_000;
const MANY_SECTIONS = 1_000;
const MANY_VALUES = 6_000;
const LIBRARY = createRequire(import.meta.url).resolve("web-tree-sitter");
const GRAMMAR = createRequire(import.meta.url).resolve("tree-sitter-bash/tree-sitter-bash.wasm");

const attacks: readonly Attack[] = [
  {
    name: "stop the server by many scripts in one command that are slow to parse",
    quick: true,
    prepare: forbidding,
    attempt: (ground, victim) => doneBeside(ground, victim, `!shell ${SLOW_SCRIPTS}\n!say done`),
    standIn: (ground) => tryNaively(ground, "const end = Date.now() + 45 * 3 * 500; while (Date.now() < end);"),
  },
  {
    name: "keep the server from reading further scripts by a script that exhausts the grammar",
    quick: true,
    attempt: async (ground, victim) => {
      await doneBeside(ground, victim, inBash(ENDLESS_SCRIPT));
      using bob = await victim.as("bob");
      const result = await bob.turn("!shell echo $((1+1))\n!say went on");
      if (answerIn(result) !== "went on") ground.see("the answer to bob", "ENDLESS");
    },
    standIn: (ground) => {
      const program = `const { Parser, Language } = require(${JSON.stringify(LIBRARY)});
Parser.init({ wasmMemory: new WebAssembly.Memory({ initial: 512, maximum: 1_024 }) }).then(() => Language.load(${JSON.stringify(GRAMMAR)})).then((language) => {
  const parser = new Parser().setLanguage(language);
  try { parser.parse("ls|".repeat(20_000)); } catch {}
  try { parser.parse("ls"); } catch { process.exit(7); }
});`;
      const file = ground.write(`${ground.root}/grammar.cjs`, program);
      return runPlainly(ground, `'${process.execPath}' '${file}'; [ $? = 7 ] && echo ENDLESS`);
    },
  },
  {
    name: "end the server by a search with many actions",
    quick: true,
    attempt: (ground, victim) =>
      doneBeside(ground, victim, calling("shell", { command: ["find", ...Array<string>(MANY_ACTIONS).fill("-exec")] })),
    standIn: (ground) => runPlainly(ground, `[ $((${MANY_ACTIONS} * ${MANY_ACTIONS} / 2 * 8)) -gt 1000000000 ] && echo ENDLESS`),
  },
  {
    name: "stop the server by many changes of folder in a script",
    attempt: (ground, victim) => doneBeside(ground, victim, inBash(`${"cd a\n".repeat(MANY_FOLDERS)}ls`)),
    standIn: (ground) =>
      tryNaively(ground, `let at = ""; for (let n = 0; n < ${MANY_FOLDERS}; n++) at = require("node:path").posix.join(at, "a");`),
  },
  {
    name: "take the server's memory by many commands in a folder with a long name",
    attempt: (ground, victim) => doneBeside(ground, victim, inBash(`cd ${"a".repeat(300_000)}\n${"cat a\ncat b\n".repeat(5_000)}`)),
    standIn: (ground) => runPlainly(ground, "[ $((300000 * 10000)) -gt 1000000000 ] && echo ENDLESS"),
  },
  {
    name: "stop the server by many sections of a patch for one file of many lines",
    quick: true,
    prepare: (ground) => writeFileSync(ground.inWorkspace("lines"), "a\n".repeat(MANY_LINES)),
    attempt: (ground, victim) =>
      doneBeside(ground, victim, patching(...Array.from({ length: MANY_SECTIONS }, () => ["*** Update File: lines", "@@", "+x"]).flat())),
    standIn: (ground) =>
      tryNaively(
        ground,
        `let text = "a\\n".repeat(${MANY_LINES}); for (let n = 0; n < ${MANY_SECTIONS}; n++) text = text.split("\\n").map((line) => line + "").join("\\n");`,
      ),
  },
  {
    name: "stop the server by many values under a long name in the arguments of a tool",
    quick: true,
    victim: { args: ["--tools", "codex-original"] },
    attempt: (ground, victim) =>
      doneBeside(ground, victim, calling("shell", { command: ["true"], ["k".repeat(300_000)]: Array<number>(MANY_VALUES).fill(0) })),
    standIn: (ground) =>
      tryNaively(
        ground,
        `const name = "k".repeat(300_000), places = new Map(); for (let n = 0; n < ${MANY_VALUES}; n++) places.set([name, n].map(String).join(), n);`,
      ),
  },
];

describeAttacks(
  "a model",
  attacks.map((attack) => ({ on: "port", gained: isStopped, ...attack })),
);
