import { describe, expect, it } from "vitest";
import { patchOf } from "../../../test/support/patch/patchText.js";
import { Tree } from "../../../test/support/patch/tree.js";

/**
 * The worked examples of the format's description, played from text to disk. An example that differs from Codex on purpose says so in its
 * name.
 */
interface Example {
  readonly name: string;
  readonly files: Readonly<Record<string, string>>;
  readonly patch: string;
  readonly gives: { readonly files: Readonly<Record<string, string>>; readonly summary: string } | { readonly error: string };
}

const PREFIXES = "Every line should start with ' ' (context line), '+' (added line), or '-' (removed line)";

function update(name: string, text: string, lines: readonly string[], result: string): Example {
  const patch = patchOf("*** Update File: f.txt", ...lines);
  return { name, files: { "f.txt": text }, patch, gives: { files: { "f.txt": result }, summary: "M f.txt\n" } };
}

function refused(name: string, text: string, lines: readonly string[], error: string): Example {
  return { name, files: { "f.txt": text }, patch: patchOf("*** Update File: f.txt", ...lines), gives: { error } };
}

const FUNCTIONS = "def a():\n    return 1\n\ndef b():\n    return 1\n";

const EXAMPLES: readonly Example[] = [
  update("first chunk without @@", "alpha\nbeta\ngamma\n", [" alpha", "-beta", "+BETA"], "alpha\nBETA\ngamma\n"),
  update("pure addition ignores the anchor", "alpha\nbeta\ngamma\n", ["@@ alpha", "+inserted"], "alpha\nbeta\ngamma\ninserted\n"),
  update("missing final newline", "x = 1\ny = 2", ["-y = 2", "+y = 3"], "x = 1\ny = 3\n"),
  update(
    "CRLF file; Codex turns the matched lines to LF, we keep CRLF",
    "one\r\ntwo\r\nthree\r\n",
    [" one", "-two", "+TWO", " three"],
    "one\r\nTWO\r\nthree\r\n",
  ),
  update("typographic characters", "print(“hi”) — ok\n", ['-print("hi") - ok', '+print("bye")'], 'print("bye")\n'),
  update("loose indentation is rewritten", "\tif x:\n\t\tgo()\n", ["-go()", "+stop()"], "\tif x:\nstop()\n"),
  update("anchor to disambiguate", FUNCTIONS, ["@@ def b():", "-    return 1", "+    return 2"], FUNCTIONS.replace(/1\n$/, "2\n")),
  refused(
    "stacked anchors",
    FUNCTIONS,
    ["@@ def a():", "@@ def b():", "-    return 1"],
    `invalid hunk at line 4, Unexpected line found in update hunk: '@@ def b():'. ${PREFIXES}`,
  ),
  update("end-of-file marker", "k\nk\nk\n", ["-k", "+LAST", "*** End of File"], "k\nk\nLAST\n"),
  refused(
    "end-of-file marker elsewhere",
    "l1\nl2\nl3\n",
    ["-l1", "+L1", "*** End of File"],
    "Failed to find expected lines in <WS>/f.txt:\nl1",
  ),
  refused("chunks out of order", "a\nb\nc\nd\n", ["@@", "-c", "+C", "@@", "-a", "+A"], "Failed to find expected lines in <WS>/f.txt:\na"),
  refused("unified-diff habits", "a\nb\n", ["@@ -1,2 +1,2 @@", "-a", "+A"], "Failed to find context '-1,2 +1,2 @@' in <WS>/f.txt"),
  update("blank anchor", "a\n\nb\n", ["@@ ", "-b", "+B"], "a\n\nB\n"),
  refused("blank anchor without a blank line", "a\nb\n", ["@@ ", "-b", "+B"], "Failed to find context '' in <WS>/f.txt"),
  update("blank line between chunks", "a\nb\n", ["@@", "-a", "+A", "", "@@", "-b", "+B"], "A\nB\n"),
  {
    name: "literal heredoc as argument, nested new file",
    files: {},
    patch: "<<'EOF'\n*** Begin Patch\n*** Add File: n/e/w.txt\n+hello\n+\n+world\n*** End Patch\nEOF\n",
    gives: { files: { "n/e/w.txt": "hello\n\nworld\n" }, summary: "A n/e/w.txt\n" },
  },
  {
    name: "partial application: nothing is written",
    files: {},
    patch: patchOf("*** Add File: ok.txt", "+1", "*** Update File: missing.txt", "@@", "-x", "+y"),
    gives: { error: "Failed to read file to update <WS>/missing.txt: No such file or directory (os error 2)" },
  },
  update("emptying a file", "v\nw\n\nz\n", ["-v", "-w", "-", "-z"], ""),
  refused(
    "line without a prefix",
    "foo\n",
    ["@@", "foo"],
    `invalid hunk at line 4, Unexpected line found in update hunk: 'foo'. ${PREFIXES}`,
  ),
  refused(
    "stray line after a chunk",
    "foo\n",
    ["@@", " foo", "-bar", "baz"],
    "invalid hunk at line 6, Expected update hunk to start with a @@ context marker, got: 'baz'",
  ),
  update(
    "same file twice; Codex checks the second section against the old file, we go on from the first",
    "a\nb\n",
    ["-a", "+A", "*** Update File: f.txt", "-A", "+AA"],
    "AA\nb\n",
  ),
];

describe("worked examples", () => {
  it.each(EXAMPLES)("$name", async ({ files, patch, gives }) => {
    await using tree = await Tree.with(files);
    const outcome = await Promise.resolve()
      .then(() => tree.apply(patch))
      .then(
        async (summary) => ({ files: await tree.texts(), summary: summary.replace("Success. Updated the following files:\n", "") }),
        (error: Error) => ({ error: error.message.replaceAll(tree.root, "<WS>") }),
      );
    expect(outcome).toEqual(gives);
    if ("error" in gives) expect(await tree.texts()).toEqual(files);
  });
});
