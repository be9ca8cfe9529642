import type { BashReader } from "./reader.js";
import type { PlainCommand } from "./syntaxTree.js";
import { anyShellScript, isSystemProgram, programName, shellScript, UNREAD_COMMANDS } from "./words.js";

/**
 * The commands of a call, each to be assessed separately: those of its script if that is a plain sequence, otherwise the call as a whole. A
 * shell outside the system folders could do anything with its script, so then the call itself is assessed too.
 */
export function partsOf(argv: readonly string[], parser: BashReader): PlainCommand[] {
  const whole = { words: argv, mayGainOptions: false };
  const script = shellScript(argv);
  const parts = script === undefined ? undefined : parser.plainCommands(script);
  if (!parts) return [whole];
  return isSystemProgram(argv[0] ?? "") ? parts : [whole, ...parts];
}

interface Wrapper {
  /** Options that take the next word as their value. */
  readonly valued?: readonly string[];
  /** The number of its own operands before the command. */
  readonly ownWords?: number;
}

/** Programs that run the command given as their arguments. */
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
  ["coproc", {}],
  ["prlimit", {}],
  ["setarch", { ownWords: 1 }],
  ["linux32", {}],
  ["linux64", {}],
  ["choom", { valued: ["-n"] }],
  ["nsenter", {}],
  ["runcon", { ownWords: 1 }],
  ["numactl", {}],
  ["fakeroot", {}],
  ["faketime", { ownWords: 1 }],
  ["firejail", {}],
  ["proot", {}],
  ["xvfb-run", {}],
  ["dbus-run-session", {}],
  ["systemd-run", {}],
  ["start-stop-daemon", {}],
  ["cgexec", { valued: ["-g"] }],
  ["cpulimit", {}],
  ["ltrace", {}],
  ["valgrind", {}],
  ["gdb", {}],
  ["perf", { ownWords: 1 }],
  ["toybox", {}],
]);

/** The dynamic loader runs the program given as its argument. */
const LOADER = /^ld(?:-linux.*|-musl.*|64)?\.so/;

/** Commands whose arguments are a script: all of them together, or the first. */
const SCRIPT_WORDS: ReadonlyMap<string, (args: readonly string[]) => string | undefined> = new Map([
  ["eval", (args: readonly string[]) => args.join(" ")],
  ["trap", (args: readonly string[]) => args.find((word) => !word.startsWith("-"))],
  ["alias", (args: readonly string[]) => args.map((word) => word.slice(word.indexOf("=") + 1)).join("\n")],
  ["hash", (args: readonly string[]) => (args[0] === "-p" ? args[1] : undefined)],
  ["mapfile", (args: readonly string[]) => valueBehind("-C", args)],
  ["readarray", (args: readonly string[]) => valueBehind("-C", args)],
  ["compgen", (args: readonly string[]) => valueBehind("-C", args)],
  ["git", configuredScripts],
  ["env", splitString],
  ["su", scriptOption],
  ["runuser", scriptOption],
  ["script", scriptOption],
  ["flock", scriptOption],
]);

const FIND_ACTIONS = new Set(["-exec", "-execdir", "-ok", "-okdir"]);

/** Scripts nested deeper than this are not examined. */
const MAX_NESTING = 5;
/** Each script is parsed, and scripts that quote each other would never end. */
const MOST_SCRIPTS = 50;
/** The most words of one wrapper that are tried as the beginning of its command, and the most actions of one `find`. */
const MOST_BEGINNINGS = 64;
/** The most words of each beginning: the work grows with the product of both numbers. */
const MOST_WORDS = 1_000;
/** In characters. The kernel accepts far less in one argument. */
const LONGEST_COMMAND = 1024 * 1024;
/** In characters, of all commands that are found in a call, with the call itself. */
const MOST_CHARACTERS = 2 * LONGEST_COMMAND;

export interface Search {
  /** Commands to skip, with everything inside them. */
  readonly except?: (words: readonly string[]) => boolean;
  /**
   * Every word after a wrapper may begin its command, whatever options the wrapper has. This finds commands that are not run, but misses
   * none because of an unknown option.
   */
  readonly everyBeginning?: boolean;
}

/** The command and every command that it would run in turn. */
export function* commandsWithin(
  argv: readonly string[],
  parser: BashReader,
  { except = () => false, everyBeginning = false }: Search = {},
): Generator<readonly string[]> {
  const seen = new Set<string>();
  let scripts = 0;
  let characters = 0;
  if (argv.reduce((sum, word) => sum + word.length, 0) <= LONGEST_COMMAND) yield* within(argv, 0);
  else {
    yield argv;
    yield UNREAD_COMMANDS;
  }

  function* within(words: readonly string[], depth: number): Generator<readonly string[]> {
    if (characters > MOST_CHARACTERS) return yield UNREAD_COMMANDS;
    // Each command once: a script also mentions the commands of its inner scripts, so the work would double with every level.
    const key = JSON.stringify(words);
    if (seen.has(key) || except(words)) return;
    seen.add(key);
    characters += key.length;
    yield words;
    if (holdsScript(words) && ++scripts > MOST_SCRIPTS) return yield UNREAD_COMMANDS;
    const inside = innerCommands(words, parser, everyBeginning);
    if (depth < MAX_NESTING) for (const inner of inside) yield* within(inner, depth + 1);
    else if (inside.some((inner) => !seen.has(JSON.stringify(inner)))) yield UNREAD_COMMANDS;
  }
}

function holdsScript([program = "", ...args]: readonly string[]): boolean {
  return (anyShellScript([program, ...args]) ?? SCRIPT_WORDS.get(programName(program))?.(args)) !== undefined;
}

/** The commands in a shell's script, after `sudo`, in `find -exec` and the like. */
function innerCommands(argv: readonly string[], parser: BashReader, everyBeginning: boolean): (readonly string[])[] {
  const [program = "", ...args] = argv;
  const name = programName(program);
  const script = anyShellScript(argv) ?? SCRIPT_WORDS.get(name)?.(args);
  if (script !== undefined) return parser.mentionedCommands(script);
  if (name === "find") return actionsOfFind(args);
  const wrapper = WRAPPERS.get(name) ?? (LOADER.test(name) ? {} : undefined);
  if (!wrapper) return [];
  if (everyBeginning) return beginnings(args);
  const inner = wrapped(args, wrapper);
  return inner.length > 0 ? [inner] : [];
}

function beginnings(args: readonly string[]): (readonly string[])[] {
  const starts = args.flatMap((word, at) => (word.startsWith("-") || isAssignment(word) ? [] : [at]));
  const tried = starts.slice(0, MOST_BEGINNINGS).map((at) => args.slice(at, at + MOST_WORDS));
  return starts.length > MOST_BEGINNINGS || args.length > MOST_WORDS ? [...tried, UNREAD_COMMANDS] : tried;
}

/** `env -S 'name words'`, `env -vS…`, `env --split-string=…`: the words after it belong to the same command. */
function splitString(args: readonly string[]): string | undefined {
  const at = args.findIndex((word) => /^-[a-zA-Z0-9]*S|^--s[a-z-]*(?:=|$)/.test(word));
  if (at < 0) return undefined;
  const [option = "", ...behind] = args.slice(at);
  const attached = option.startsWith("--") ? option.slice(`${option}=`.indexOf("=") + 1) : option.slice(option.indexOf("S") + 1);
  return [attached, ...behind].join(" ");
}

/** `-C 'name words'`. */
function valueBehind(option: string, args: readonly string[]): string | undefined {
  const at = args.indexOf(option);
  return at < 0 ? undefined : args[at + 1];
}

/**
 * `git -c alias.x='!name words'`: many of git's settings name a program, and later versions add to them. Without the exclamation mark an
 * alias is a subcommand.
 */
function configuredScripts(args: readonly string[]): string | undefined {
  const settings = args.flatMap((word, at) => (args[at - 1] === "-c" ? [word] : /^-c./.test(word) ? [word.slice(2)] : []));
  const values = settings.map((setting) => setting.slice(setting.indexOf("=") + 1));
  return values.length === 0 ? undefined : values.flatMap((value) => [value.replace(/^!/, ""), `git ${value}`]).join("\n");
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

function actionsOfFind(args: readonly string[]): (readonly string[])[] {
  const starts = args.flatMap((word, at) => (FIND_ACTIONS.has(word) ? [at + 1] : []));
  const actions = starts.slice(0, MOST_BEGINNINGS).map((start) => {
    const rest = args.slice(start, start + MOST_WORDS);
    const end = rest.findIndex((each) => each === ";" || each === "+");
    return end < 0 ? rest : rest.slice(0, end);
  });
  const isCut = starts.length > MOST_BEGINNINGS || actions.some(({ length }) => length === MOST_WORDS);
  return isCut ? [...actions, UNREAD_COMMANDS] : actions;
}
