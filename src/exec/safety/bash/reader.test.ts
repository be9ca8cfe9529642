import { spawnSync } from "node:child_process";
import { copyFileSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { build } from "esbuild";
import { beforeAll, describe, expect, it, onTestFinished, vi } from "vitest";
import { SeededRandom } from "../../../../test/support/patch/random.js";
import { BashGrammar, clock, openGrammar } from "./grammar.js";
import { type BashParser, openBashParser, openBashReader, type PatchCall, patchCall, UNMISTAKABLE_SCRIPTS } from "./reader.js";
import { UNREAD_COMMANDS } from "./words.js";

let grammar: BashParser;
beforeAll(async () => {
  grammar = await openBashParser();
});

const KNOWN_WORDS = "true ls git rm -rf -la time if then do in for export let test bash -c -lc echo 0 12 -5 2 a,b x.y 5% @{u}".split(" ");
const SIGNS = [..."abz09_./:@%+,-=~"];

function randomScript(random: SeededRandom): string {
  const word = () => (random.below(2) ? random.pick(KNOWN_WORDS) : random.several(1, 6, () => random.pick(SIGNS)).join(""));
  return random.several(1, 6, word).join(" ");
}

it.each([1, 2, 3])("it reads words as the grammar does (seed %i)", (seed) => {
  const random = new SeededRandom(seed);
  const scripts = Array.from({ length: 9_000 }, () => randomScript(random)).filter((text) => UNMISTAKABLE_SCRIPTS.canRead(text));
  expect(scripts.length).toBeGreaterThan(500);
  for (const text of scripts) {
    expect(UNMISTAKABLE_SCRIPTS.plainCommands(text)).toEqual(grammar.plainCommands(text));
    expect(UNMISTAKABLE_SCRIPTS.mentionedCommands(text)).toEqual(grammar.mentionedCommands(text));
    expect(grammar.patchHeredoc(text)).toBeUndefined();
    expect(grammar.canRead(text)).toBe(true);
  }
});

describe("the grammar is loaded unless every word is plain", () => {
  it.each<[string[], "words" | "grammar"]>([
    [["bash", "-lc", "true"], "words"],
    [["/bin/bash", "-lc", "git status --short"], "words"],
    [["rm", "-rf", "x"], "words"],
    [["bash", "-lc", "ls | head"], "grammar"],
    [["bash", "-lc", "ls  x"], "grammar"],
    [["bash", "-lc", "ls\nrm x"], "grammar"],
    [["bash", "-lc", "A=1 ls"], "grammar"],
    [["bash", "-lc", "export A"], "grammar"],
    [["bash", "-lc", "bash -c if"], "grammar"],
    [["env", "bash", "-c", "rm $x"], "grammar"],
    [["bash", "-lc", "sleep 5"], "words"],
    [["bash", "-lc", ":"], "grammar"],
    [["bash", "-lc", "7z x a.7z"], "grammar"],
    [["env", "bash", "-c", ":"], "grammar"],
    [["bash", "-lc", "env bash -c 7z"], "grammar"],
    [["bash", "-lc", ""], "grammar"],
    [["bash", "-lc", "x".repeat(10_001)], "grammar"],
  ])("%j", async (argv, expected) => {
    expect((await openBashReader(argv)) === UNMISTAKABLE_SCRIPTS ? "words" : "grammar").toBe(expected);
  });
});

it("an unparsable text is neither plain nor harmless", () => {
  const loop = "while true; do rm x; done";
  expect(UNMISTAKABLE_SCRIPTS.canRead(loop)).toBe(false);
  expect(UNMISTAKABLE_SCRIPTS.plainCommands(loop)).toBeUndefined();
});

let parser: BashParser;
beforeAll(async () => {
  parser = await openBashParser();
});

function plain(script: string): (readonly string[])[] | undefined {
  return parser.plainCommands(script)?.map((command) => command.words);
}

it("the grammar is loaded once", async () => {
  expect(await openGrammar()).toBe(await openGrammar());
});

describe("a plain sequence is read word by word", () => {
  it.each<[string, string[][]]>([
    ["ls", [["ls"]]],
    ["  ls -la  ", [["ls", "-la"]]],
    ["ls;", [["ls"]]],
    ["ls && pwd || true; cat a | head -n 3", [["ls"], ["pwd"], ["true"], ["cat", "a"], ["head", "-n", "3"]]],
    ["ls\npwd\n", [["ls"], ["pwd"]]],
    ["ls &&\n  pwd", [["ls"], ["pwd"]]],
    ["ls \\\n  | head", [["ls"], ["head"]]],
    [`echo 'a b' "c d" e`, [["echo", "a b", "c d", "e"]]],
    [`rg -g"*.py" 'x'"y"z`, [["rg", "-g*.py", "xyz"]]],
    [`echo "" '' " "`, [["echo", "", "", " "]]],
    [`echo "two\nlines"`, [["echo", "two\nlines"]]],
    [`echo "say \\"hi\\" for \\$5 \\n"`, [["echo", 'say "hi" for $5 \\n']]],
    ["echo a\\ b -d\\elete", [["echo", "a b", "-delete"]]],
    ["rg foo \\\n  src \\\n  test", [["rg", "foo", "src", "test"]]],
    ["ls *.ts src/**/[ab]?", [["ls", "*.ts", "src/**/[ab]?"]]],
    ["echo a=b c#d !e ~/f stash@{0}", [["echo", "a=b", "c#d", "!e", "~/f", "stash@{0}"]]],
    ["echo -5 12", [["echo", "-5", "12"]]],
    ["echo é 😀", [["echo", "é", "😀"]]],
  ])("%j", (script, words) => expect(plain(script)).toEqual(words));
});

describe("a command that could do more than its words show is not plain", () => {
  it.each([
    ["redirection", "echo hi > f"],
    ["redirection of a number", "ls 2>&1"],
    ["here string", "cat <<< x"],
    ["here document", "cat <<E\nx\nE"],
    ["variable", "echo $x"],
    ["variable in quotes", 'echo "a $x"'],
    ["substitution", "echo $(ls)"],
    ["backticks", "echo `ls`"],
    ["backticks in quotes", 'echo "`ls`"'],
    ["process substitution", "cat <(ls)"],
    ["arithmetic", "echo $((1))"],
    ["escapes of bash", "echo $'a'"],
    ["background", "ls &"],
    ["both streams piped", "ls |& cat"],
    ["subshell", "(ls)"],
    ["group", "{ ls; }"],
    ["negation", "! ls"],
    ["assignment before a command", "A=1 ls"],
    ["assignment alone", "A=1"],
    ["loop", "for f in a; do ls; done"],
    ["test", "[ -f x ]"],
    ["function", "ls() { rm x; }; ls"],
    ["comment", "ls # all"],
    ["nothing", ""],
    ["blanks", " \n "],
    ["unfinished", "ls &&"],
    ["doubled separator", "ls ;; pwd"],
    ["open quote", "echo 'a"],
    ["quoted program", '"ls" x'],
    ["glued program", "l's' x"],
    ["escaped program", "l\\s x"],
    ["variable as program", "$x"],
    ["brace expansion", "find . {-delete,-print}"],
    ["brace expansion with quotes", "find . {'-delete',x}"],
    ["brace range", "echo a{1..3}b"],
    ["a word continued on the next line", "find . -del\\\nete"],
    ["a word in quotes continued on the next line", 'find . "-del\\\nete"'],
    ["a blank that is none to bash", "touch\u2003x"],
    ["an escaped blank the grammar leaves out", "ls \\ "],
    ["a blank the grammar takes into a word", "ls [\t{"],
    ["a line break the grammar takes into a word", "ls }\na="],
    ["commands that become one", "ls\\\npwd"],
    ["zsh's substitution", "ls =(touch x)"],
    ["zsh's glob qualifier", "ls *(e:'touch x':)"],
    ["bash's extended glob", "ls @(a|b)"],
    ["carriage return", "ls\r\npwd"],
    ["control character", "ls \u0001"],
  ])("%s", (_, script) => expect(plain(script)).toBeUndefined());
});

it.each<[string, boolean]>([
  ["find *", true],
  ["find -*", true],
  ["find ?x", true],
  ["find [a-z]x", true],
  ["find . -name '*.ts'", false],
  ["find . -name \\*.ts", false],
  ["find ./*", false],
  ["find src/*.ts", false],
])("file names could become options in `%s`: %s", (script, may) => {
  expect(parser.plainCommands(script)?.map((command) => command.mayGainOptions)).toEqual([may]);
});

it("thousands of random scripts are read as bash itself reads them", () => {
  const random = seeded(2026);
  const pieces = [..."ab-=!*[]{},#%^@:é1$`()<\\'\"\t\n ", "show ", "; ", "&& ", "..", "\\ ", "\\\n", " \\\n", "-1", "time "];
  const accepted = Array.from({ length: 6000 }, () => {
    const script = `show ${Array.from({ length: 1 + Math.floor(random() * 9) }, () => pieces[Math.floor(random() * pieces.length)]).join("")}`;
    return { script, commands: plain(script) };
  }).filter(({ commands }) => commands?.every(([program]) => program === "show"));
  expect(accepted.length).toBeGreaterThan(1000);

  const prelude = `set -f; show() { printf '%s\\0' "$#" "$@"; }`;
  const run = spawnSync("bash", ["-c", [prelude, ...accepted.map(({ script }) => script)].join("\n")], { encoding: "utf8" });
  const read = accepted.flatMap(({ commands = [] }) => commands.flatMap(([, ...args]) => [String(args.length), ...args]));
  expect(read).toEqual(run.stdout.split("\0").slice(0, -1));
});

it("commands are found in places that are not plain", () => {
  const script = 'A=1 rm -rf "$HOME" > log\n(cd x && "git" push -f) &\nfor f in *; do shred $f; done\necho $(find . -delete)';
  expect(parser.mentionedCommands(script)).toEqual([
    ["rm", "-rf", '"$HOME"'],
    ["cd", "x"],
    ["git", "push", "-f"],
    ["shred", "$f"],
    ["echo", "$(find . -delete)"],
    ["find", ".", "-delete"],
  ]);
});

const PATCH = "*** Begin Patch\n*** Add File: a\n+$x `y` é😀\n*** End Patch";

describe("a patch handed over by a here document", () => {
  it.each<[string, string, { patch: string; workdir?: string }]>([
    ["quoted delimiter", `apply_patch <<'EOF'\n${PATCH}\nEOF\n`, { patch: PATCH }],
    ["double quotes", `apply_patch <<"E F"\n${PATCH}\nE F\n`, { patch: PATCH }],
    ["no quotes, body as it is written", `apply_patch <<EOF\n${PATCH}\nEOF`, { patch: PATCH }],
    ["other name, blank before the delimiter", `applypatch << PATCH\n${PATCH}\n\n\nPATCH`, { patch: PATCH }],
    ["indented", `apply_patch <<-E\n\t*** Begin Patch\n\t*** End Patch\n\tE`, { patch: "*** Begin Patch\n*** End Patch" }],
    ["empty", "apply_patch <<E\nE", { patch: "" }],
    ["not a patch at all", "apply_patch <<E\nx\nE", { patch: "x" }],
    ["in a folder", `cd dir && apply_patch <<'EOF'\n${PATCH}\nEOF`, { patch: PATCH, workdir: "dir" }],
    ["in a quoted folder", `cd "dir with space" && apply_patch <<E\n${PATCH}\nE`, { patch: PATCH, workdir: "dir with space" }],
    ["in a folder in single quotes", `cd '/a b'/c && apply_patch <<E\n${PATCH}\nE`, { patch: PATCH, workdir: "/a b/c" }],
  ])("%s", (_, script, found) => expect(parser.patchHeredoc(script)).toEqual(found));

  it.each([
    ["two arguments to cd", "cd a b && apply_patch <<E\nx\nE"],
    ["option of cd", "cd -P a && apply_patch <<E\nx\nE"],
    ["expansion", "cd $HOME && apply_patch <<E\nx\nE"],
    ["expansion in quotes", 'cd "$HOME/x" && apply_patch <<E\nx\nE'],
    ["two folders", "cd a && cd b && apply_patch <<E\nx\nE"],
    ["semicolon", "cd a; apply_patch <<E\nx\nE"],
    ["pipe", "cd a | apply_patch <<E\nx\nE"],
    ["or", "cd a || apply_patch <<E\nx\nE"],
    ["something else before", "echo x && apply_patch <<E\nx\nE"],
    ["something behind", "apply_patch <<E && echo done\nx\nE"],
    ["something on the next line", "apply_patch <<E\nx\nE\necho done"],
    ["piped on", "apply_patch <<E | cat\nx\nE"],
    ["redirected", "apply_patch <<E > out\nx\nE"],
    ["other input", "apply_patch 3<<E\nx\nE"],
    ["argument", "apply_patch a <<E\nx\nE"],
    ["argument behind", "apply_patch <<E a\nx\nE"],
    ["assignment", "A=1 apply_patch <<E\nx\nE"],
    ["unfinished", "apply_patch <<E\nx"],
    ["other program", "cat <<E\nx\nE"],
    ["no here document", "apply_patch"],
  ])("not with: %s", (_, script) => expect(parser.patchHeredoc(script)).toBeUndefined());
});

it("an endless script is not read", () => {
  const script = `ls ${"a ".repeat(600_000)}`;
  expect([parser.canRead(script), plain(script), parser.mentionedCommands(script)]).toEqual([false, undefined, [UNREAD_COMMANDS]]);
});

it.each(["", "\\\n"])("a text that is made to be slow is rejected once for all checks, and the parser continues (ends with %j)", (end) => {
  const script = `${"((a".repeat(300_000)}${end}`;
  const read = vi.spyOn(BashGrammar.prototype, "read");
  onTestFinished(() => read.mockRestore());
  const call = parser.forCall();
  const parsedFor = (questions: number) => {
    for (let question = 0; question < questions; question++)
      expect([call.mentionedCommands(script), call.canRead(script)]).toEqual([[UNREAD_COMMANDS], false]);
    return read.mock.calls.length;
  };
  const once = parsedFor(1);
  expect(once).toBeGreaterThan(0);
  expect(parsedFor(19)).toBe(once);
  expect([parser.canRead("ls &&"), plain("ls && pwd")]).toEqual([true, [["ls"], ["pwd"]]]);
});

it("the scripts of one call share the time, and the next call has its own", () => {
  let now = 0;
  const time = vi.spyOn(clock, "nowMs").mockImplementation(() => now);
  const read = vi.spyOn(BashGrammar.prototype, "read").mockImplementation((_script, { deadline }) => {
    // Parsing this script never ends by itself.
    const parseMs = deadline - now + 10;
    now += parseMs;
    return { answer: undefined, isUnread: true, parseMs };
  });
  onTestFinished(() => {
    for (const mock of [time, read]) mock.mockRestore();
  });
  const spentOn = (reader: BashParser) => {
    const startedAt = now;
    for (let at = 0; at < 40; at++) expect(reader.canRead(`slow ${at}`)).toBe(false);
    return now - startedAt;
  };
  const spent = spentOn(parser.forCall());
  expect(spent).toBeLessThan(2_000);
  expect(spentOn(parser.forCall())).toBe(spent);
});

it("thousands of commands in a row do not exhaust the stack", () => {
  expect(plain(Array.from({ length: 5_000 }, () => "ls").join(" && "))?.length).toBe(5_000);
});

function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 1_664_525 + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

it("a bundle far from any package reads bash with the three files beside it", async () => {
  const dist = mkdtempSync(path.join(tmpdir(), "dist-"));
  try {
    const contents = `import { openBashParser } from "./src/exec/safety/bash/reader.ts";
      process.stdout.write(JSON.stringify((await openBashParser()).plainCommands("ls")));`;
    const outfile = path.join(dist, "chunks", "entry.mjs");
    await build({
      stdin: { contents, resolveDir: process.cwd() },
      outfile,
      bundle: true,
      platform: "node",
      format: "esm",
      logLevel: "error",
    });
    copyFileSync("node_modules/web-tree-sitter/web-tree-sitter.cjs", path.join(dist, "web-tree-sitter.js"));
    copyFileSync("node_modules/web-tree-sitter/web-tree-sitter.wasm", path.join(dist, "web-tree-sitter.wasm"));
    copyFileSync("node_modules/tree-sitter-bash/tree-sitter-bash.wasm", path.join(dist, "tree-sitter-bash.wasm"));
    const run = spawnSync(process.execPath, [outfile], { encoding: "utf8" });
    expect({ stdout: run.stdout, stderr: run.stderr }).toEqual({ stdout: '[{"words":["ls"],"mayGainOptions":false}]', stderr: "" });
  } finally {
    rmSync(dist, { recursive: true });
  }
});

const DELETION = "*** Begin Patch\n*** Delete File: a\n*** End Patch";
const SCRIPT = `apply_patch <<'EOF'\n${DELETION}\nEOF`;
const FOUND: PatchCall = { kind: "patch", patch: DELETION };
const BARE: PatchCall = { kind: "bare" };

describe("a shell call that is really a patch", () => {
  it.each<[string, string[], PatchCall | undefined]>([
    ["the program itself", ["apply_patch", DELETION], FOUND],
    ["its other name", ["applypatch", DELETION], FOUND],
    ["a broken patch is still one", ["apply_patch", "x"], { kind: "patch", patch: "x" }],
    ["bash", ["bash", "-lc", SCRIPT], FOUND],
    ["sh by path, without login", ["/bin/SH", "-c", SCRIPT], FOUND],
    ["zsh on Windows", ["zsh.exe", "-lc", SCRIPT], FOUND],
    ["PowerShell", ["pwsh", "-NoProfile", "-Command", SCRIPT], FOUND],
    ["PowerShell by path", ["C:\\x\\powershell.exe", "-Command", SCRIPT], FOUND],
    ["cmd", ["cmd", "/c", SCRIPT], FOUND],
    ["a folder", ["bash", "-lc", `cd "a b" && ${SCRIPT}`], { ...FOUND, workdir: "a b" }],
    ["a patch for a command", [DELETION], BARE],
    ["a patch for a script", ["bash", "-lc", `\n${DELETION}\n`], BARE],
    ["a second argument", ["apply_patch", DELETION, "x"], undefined],
    ["no argument", ["apply_patch"], undefined],
    ["other flags", ["bash", "-ec", SCRIPT], undefined],
    ["flags apart", ["bash", "-l", "-c", SCRIPT], undefined],
    ["words behind the script", ["bash", "-lc", SCRIPT, "x"], undefined],
    ["another shell", ["fish", "-c", SCRIPT], undefined],
    ["an ordinary command", ["bash", "-lc", "ls"], undefined],
    ["a word", ["ls"], undefined],
    ["nothing", [], undefined],
  ])("%s", (_, argv, call) => expect(patchCall(argv, parser)).toEqual(call));
});
