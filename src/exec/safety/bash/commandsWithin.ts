import type { BashReader } from "./reader.js";
import type { PlainCommand } from "./syntaxTree.js";
import { anyShellScript, isSystemProgram, programName, shellScript } from "./words.js";

/**
 * The commands a call consists of, each to be judged by itself: those of its script when that is a plain sequence, else the call
 * as a whole. A shell from an odd place could do anything with its script, so there the call itself is judged as well.
 */
export function partsOf(argv: readonly string[], parser: BashReader): PlainCommand[] {
  const whole = { words: argv, mayGainOptions: false };
  const script = shellScript(argv);
  const parts = script === undefined ? undefined : parser.plainCommands(script);
  if (!parts) return [whole];
  return isSystemProgram(argv[0] ?? "") ? parts : [whole, ...parts];
}

interface Wrapper {
  /** Options whose value is the next word. */
  readonly valued?: readonly string[];
  /** Words of its own before the command starts. */
  readonly ownWords?: number;
}

/** Programs that run the command they are given. */
const WRAPPERS: ReadonlyMap<string, Wrapper> = new Map<string, Wrapper>([
  [
    "sudo",
    { valued: ["-u", "--user", "-g", "--group", "-h", "--host", "-p", "--prompt", "-C", "-D", "--chdir", "-R", "-T", "-U", "-r", "-t"] },
  ],
  ["doas", { valued: ["-u", "-C"] }],
  ["env", { valued: ["-u", "--unset", "-C", "--chdir"] }],
  ["xargs", { valued: ["-I", "-n", "-P", "-L", "-d", "-a", "-s", "-E", "--max-args", "--max-procs", "--delimiter", "--arg-file"] }],
  ["timeout", { valued: ["-k", "--kill-after", "-s", "--signal"], ownWords: 1 }],
  ["nice", { valued: ["-n", "--adjustment"] }],
  ["ionice", { valued: ["-c", "-n"] }],
  ["stdbuf", { valued: ["-i", "-o", "-e"] }],
  ["time", { valued: ["-f", "-o"] }],
  ["exec", { valued: ["-a"] }],
  ["command", {}],
  ["builtin", {}],
  ["nohup", {}],
  ["setsid", {}],
  ["busybox", {}],
  ["chroot", { valued: ["--userspec", "--groups"], ownWords: 1 }],
  ["flock", { valued: ["-w", "-E"], ownWords: 1 }],
  ["taskset", { ownWords: 1 }],
  ["chrt", { ownWords: 1 }],
  ["setpriv", { valued: ["--reuid", "--regid", "--groups", "--pdeathsig"] }],
  ["unshare", {}],
  ["pkexec", { valued: ["--user"] }],
  ["strace", { valued: ["-e", "-o", "-s", "-p"] }],
  ["watch", { valued: ["-n", "--interval"] }],
  ["parallel", { valued: ["-j", "--jobs"] }],
]);

/** Words that are a script themselves: all of them together, or the first. */
const SCRIPT_WORDS: ReadonlyMap<string, (args: readonly string[]) => string | undefined> = new Map([
  ["eval", (args: readonly string[]) => args.join(" ")],
  ["trap", (args: readonly string[]) => args.find((word) => !word.startsWith("-"))],
  ["su", scriptOption],
  ["runuser", scriptOption],
  ["script", scriptOption],
  ["flock", scriptOption],
]);

const FIND_ACTIONS = new Set(["-exec", "-execdir", "-ok", "-okdir"]);

/** Scripts nested deeper than this are not looked into. */
const MAX_NESTING = 5;
/** Each script is parsed, and scripts that quote each other would never end. */
const MOST_SCRIPTS = 50;
/** Stands for the commands of the scripts beyond `MOST_SCRIPTS`. */
export const UNREAD_COMMANDS: readonly string[] = ["(commands in more scripts than are looked into)"];

/** The command and every command that it would run in turn. Commands that `except` accepts are skipped with all inside them. */
export function* commandsWithin(
  argv: readonly string[],
  parser: BashReader,
  except: (words: readonly string[]) => boolean = () => false,
): Generator<readonly string[]> {
  const seen = new Set<string>();
  let scripts = 0;
  yield* within(argv, 0);

  function* within(words: readonly string[], depth: number): Generator<readonly string[]> {
    // Each command once: a script also names the commands of its inner scripts, so the work would double with every level.
    const key = JSON.stringify(words);
    if (seen.has(key) || except(words)) return;
    seen.add(key);
    yield words;
    if (holdsScript(words) && ++scripts > MOST_SCRIPTS) yield UNREAD_COMMANDS;
    else if (depth < MAX_NESTING) for (const inner of innerCommands(words, parser)) yield* within(inner, depth + 1);
  }
}

function holdsScript([program = "", ...args]: readonly string[]): boolean {
  return (anyShellScript([program, ...args]) ?? SCRIPT_WORDS.get(programName(program))?.(args)) !== undefined;
}

/** A shell's script, what stands behind `sudo`, `find -exec` and the like. */
function innerCommands(argv: readonly string[], parser: BashReader): string[][] {
  const [program = "", ...args] = argv;
  const name = programName(program);
  const script = anyShellScript(argv) ?? SCRIPT_WORDS.get(name)?.(args);
  if (script !== undefined) return parser.mentionedCommands(script);
  if (name === "find") return actionsOfFind(args);
  const wrapper = WRAPPERS.get(name);
  const inner = wrapper ? wrapped(args, wrapper) : [];
  return inner.length > 0 ? [inner] : [];
}

/** `su -c '…'`, `script --command='…'`. */
function scriptOption(args: readonly string[]): string | undefined {
  const at = args.findIndex((word) => /^(-[a-z]*c|--command)$/.test(word));
  return at < 0 ? args.find((word) => word.startsWith("--command="))?.slice("--command=".length) : args[at + 1];
}

function wrapped(args: readonly string[], { valued = [], ownWords = 0 }: Wrapper): string[] {
  const start = args.findIndex((word, at) => !word.startsWith("-") && !isAssignment(word) && !valued.includes(args[at - 1] ?? ""));
  return start < 0 ? [] : args.slice(start + ownWords);
}

function isAssignment(word: string): boolean {
  return /^\w+=/.test(word);
}

function actionsOfFind(args: readonly string[]): string[][] {
  return args.flatMap((word, at) => {
    if (!FIND_ACTIONS.has(word)) return [];
    const rest = args.slice(at + 1);
    const end = rest.findIndex((each) => each === ";" || each === "+");
    return [end < 0 ? rest : rest.slice(0, end)];
  });
}
