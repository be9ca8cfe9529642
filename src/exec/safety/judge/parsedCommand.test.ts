import { beforeAll, describe, expect, it } from "vitest";
import type { ParsedCommand } from "../../actions.js";
import { type BashParser, openBashParser } from "../bash/reader.js";
import { parsedCommand } from "./parsedCommand.js";

let parser: BashParser;
beforeAll(async () => {
  parser = await openBashParser();
});

const unknown = (cmd: string): ParsedCommand => ({ type: "unknown", cmd });
const read = (cmd: string, path: string, name = path): ParsedCommand => ({ type: "read", cmd, name, path });
const list = (cmd: string, path: string | null): ParsedCommand => ({ type: "list_files", cmd, path });
const search = (cmd: string, query: string | null, path: string | null): ParsedCommand => ({ type: "search", cmd, query, path });

describe("in the words of Codex 0.92.0", () => {
  it.each<[string[], ParsedCommand[]]>([
    [["bash", "-lc", "echo hi"], [unknown("echo hi")]],
    [["/bin/bash", "-lc", "echo hi"], [unknown("echo hi")]],
    [["bash", "-lc", "echo hi > here.txt"], [unknown("echo hi > here.txt")]],
    [["bash", "-lc", "echo hi > made.txt; cat made.txt"], [unknown("echo hi > made.txt; cat made.txt")]],
    [["bash", "-lc", "echo to-out; echo to-err >&2; exit 3"], [unknown("echo to-out; echo to-err >&2; exit 3")]],
    [["bash", "-lc", "touch made.txt"], [unknown("touch made.txt")]],
    [
      ["bash", "-lc", "echo go; sleep 30; echo late"],
      [unknown("sleep 30"), unknown("echo late")],
    ],
    [
      ["bash", "-lc", "sleep 6; touch late.txt"],
      [unknown("sleep 6"), unknown("touch late.txt")],
    ],
    [["bash", "-lc", "yes abcdefghi | head -c 60000"], [unknown("yes abcdefghi | head -c 60000")]],
  ])("%j", (argv, parsed) => expect(parsedCommand(argv, parser)).toEqual(parsed));
});

describe("one command", () => {
  it.each<[string, ParsedCommand]>([
    ["cat src/a.ts", read("cat src/a.ts", "src/a.ts", "a.ts")],
    ["cat  -n -- 'a b'", read("cat -n -- 'a b'", "a b")],
    ["bat -r 1:9 a", read("bat -r 1:9 a", "a")],
    ["less a", read("less a", "a")],
    ["more a", read("more a", "a")],
    ["nl -ba a", read("nl -ba a", "a")],
    ["head -n 40 a", read("head -n 40 a", "a")],
    ["head -40 a", unknown("head -40 a")],
    ["head -c 40 a", unknown("head -c 40 a")],
    ["cat 'a b'/*.txt", read("cat 'a b/*.txt'", "a b/*.txt", "*.txt")],
    ["printf 'a\\n'", unknown("printf 'a\\n'")],
    ["env A=1 make", unknown("env 'A=1' make")],
    ["tail -n +10 /b/a", read("tail -n +10 /b/a", "/b/a", "a")],
    ["sed -n '3,9p' a", read("sed -n '3,9p' a", "a")],
    ["awk '{print $1}' a", read("awk '{print $1}' a", "a")],
    ["awk -F , -f prog a", read("awk -F ',' -f prog a", "a")],
    ["cat a b", unknown("cat a b")],
    ["cat", unknown("cat")],
    ["head -n 40", unknown("head -n 40")],
    ["sed s/a/b/ a", unknown("sed s/a/b/ a")],
    ["ls", list("ls", null)],
    ["ls -la src", list("ls -la src", "src")],
    ["ls packages/app/src/", list("ls packages/app/src/", "app")],
    ["ls node_modules/dist", list("ls node_modules/dist", "node_modules/dist")],
    ["ls -I '*.o' x", list("ls -I '*.o' x", "x")],
    ["eza --level 2 x", list("eza --level 2 x", "x")],
    ["exa", list("exa", null)],
    ["tree -L 2 x", list("tree -L 2 x", "x")],
    ["du -sh x", list("du -sh x", "x")],
    ["rg --files", list("rg --files", null)],
    ["rg --files -g '*.ts' x", list("rg --files -g '*.ts' x", "x")],
    ["git ls-files x", list("git ls-files x", "x")],
    ["fd", list("fd", null)],
    ["fd -t f ./x", list("fd -t f ./x", "x")],
    ["find .", list("find .", ".")],
    ["find -type f", list("find -type f", null)],
    ["rg foo", search("rg foo", "foo", null)],
    ["rg -n -A 3 'a|b' src/lib", search("rg -n -A 3 'a|b' src/lib", "a|b", "lib")],
    ["rga -e foo x", search("rga -e foo x", "foo", "x")],
    ["rg --regexp=foo x", search("rg '--regexp=foo' x", "foo", "x")],
    ["grep -rn foo x", search("grep -rn foo x", "foo", "x")],
    ["egrep foo", search("egrep foo", "foo", null)],
    ["fgrep -m 1 foo x", search("fgrep -m 1 foo x", "foo", "x")],
    ["git grep -n foo -- x", search("git grep -n foo -- x", "foo", "x")],
    ["ag foo x", search("ag foo x", "foo", "x")],
    ["ack foo", search("ack foo", "foo", null)],
    ["pt foo", search("pt foo", "foo", null)],
    ["fd foo", search("fd foo", "foo", null)],
    ["fd foo x", search("fd foo x", "foo", "x")],
    ["find x -name '*.ts'", search("find x -name '*.ts'", "*.ts", "x")],
    ["find -L x -iname y", search("find -L x -iname y", "y", "x")],
    ["find . -name x -delete", unknown("find . -name x -delete")],
    ["git status", unknown("git status")],
    ["wc -l", unknown("wc -l")],
    ["npm   test", unknown("npm test")],
  ])("%s", (script, parsed) => expect(parsedCommand(["bash", "-lc", script], parser)).toEqual([parsed]));
});

describe("several commands", () => {
  it.each<[string, ParsedCommand[]]>([
    ["cd src && cat a", [read("cat a", "src/a", "a")]],
    ["cd src && cd lib && cat ../a", [read("cat ../a", "src/lib/../a", "a")]],
    ["cd src && cat /b/a", [read("cat /b/a", "/b/a", "a")]],
    ["cd src && ls x", [list("ls x", "x")]],
    ["cd /x && npm test", [unknown("npm test")]],
    ["ls && cd x", [list("ls", null)]],
    ["cd x", []],
    ["cd x && cd ..", []],
    ["cd x && true", [unknown("true")]],
    ["cd x/ && cat ./a", [read("cat ./a", "x/./a", "a")]],
    ["cat a | wc -l", [read("cat a", "a")]],
    ["nl -ba a | sed -n 3,9p", [read("nl -ba a | sed -n 3,9p", "a")]],
    ["sed -n 3,9p a | nl", [read("sed -n 3,9p a | nl", "a")]],
    ["sed -n 3,9p a && true", [read("sed -n '3,9p' a", "a")]],
    ["sed -n -e 3,9p a", [read("sed -n -e '3,9p' a", "a")]],
    ["sed -n 3,9p -- a b", [read("sed -n '3,9p' -- a b", "a")]],
    ["sed 's/a b/c/' a", [unknown("sed 's/a b/c/' a")]],
    ["sed -n '/x/p' a", [unknown("sed -n '/x/p' a")]],
    ["nl a b", [read("nl a b", "a")]],
    ["tail --lines=3 a", [unknown("tail '--lines=3' a")]],
    ["ls x/src/", [list("ls x/src/", "x")]],
    ["ls src/", [list("ls src/", "src")]],
    ["cat a | nl", [read("cat a", "a")]],
    ["rg foo | head -n 5 | sort | uniq -c", [search("rg foo", "foo", null)]],
    ["rg --files | xargs wc -l", [list("rg --files", null)]],
    ["rg -l foo | xargs -n 1 rm", [search("rg -l foo", "foo", null), unknown("xargs -n 1 rm")]],
    ["rg -l foo | xargs sed -i s/a/b/", [search("rg -l foo", "foo", null), unknown("xargs sed -i s/a/b/")]],
    ["rg -l foo | xargs sed s/a/b/", [search("rg -l foo", "foo", null)]],
    ["ls | awk '{print $1}' | sed s/a/b/", [list("ls", null)]],
    ["ls; head -n 3 a", [list("ls", null), read("head -n 3 a", "a")]],
    ["rg foo || true", [search("rg foo", "foo", null)]],
    ["echo a; echo b", [unknown("echo b")]],
    ["echo '==' && ls", [list("ls", null)]],
    ["ls && ls && cat a && ls", [list("ls", null), read("cat a", "a"), list("ls", null)]],
    ["npm test && cat 'a b'", [unknown("npm test"), read("cat 'a b'", "a b")]],
    ["sort a | uniq", [unknown("sort a | uniq")]],
    ["cat a > b", [unknown("cat a > b")]],
    ["cat $x", [unknown("cat $x")]],
    ["", [unknown("")]],
  ])("%s", (script, parsed) => expect(parsedCommand(["zsh", "-c", script], parser)).toEqual(parsed));
});

it("without a shell the words themselves are shown", () => {
  expect([parsedCommand(["cat", "a b"], parser), parsedCommand(["npm", "run", "a b"], parser)]).toEqual([
    [read("cat 'a b'", "a b")],
    [unknown("npm run 'a b'")],
  ]);
});

it.each([
  ["thousands of commands", "cat a\ncat b\n".repeat(1_000)],
  ["a folder that grows too long for a path", `${`cd ${"a".repeat(50)}\n`.repeat(100)}cat a\ncat b`],
  ["a folder that is too long for a path", `cd ${"a".repeat(5_000)}\ncat a\ncat b`],
])("a script with %s is shown as a whole", (_, script) => {
  expect(parsedCommand(["bash", "-c", script], parser)).toEqual([unknown(script)]);
});
