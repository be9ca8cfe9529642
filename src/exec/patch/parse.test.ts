import { describe, expect, it } from "vitest";
import { patchOf } from "../../../test/support/patch/patchText.js";
import { PatchInvalid } from "./errors.js";
import { type Chunk, parsePatch } from "./parse.js";

const HEADERS = "Valid hunk headers: '*** Add File: {path}', '*** Delete File: {path}', '*** Update File: {path}'";
const PREFIXES = "Every line should start with ' ' (context line), '+' (added line), or '-' (removed line)";

function complaint(text: string): string {
  try {
    parsePatch(text);
  } catch (error) {
    if (error instanceof PatchInvalid) return error.message;
    throw error;
  }
  return "parsed";
}

function chunksOf(...lines: string[]): readonly Chunk[] {
  const [operation] = parsePatch(patchOf("*** Update File: f", ...lines)).operations;
  return operation?.kind === "update" ? operation.chunks : [];
}

describe("a patch that parses", () => {
  it("adds, deletes, updates and moves files", () => {
    const text = `*** Begin Patch
*** Add File: path/add.py
+abc
+
+def
*** Delete File: old one.py
*** Update File: from.py
*** Move to: to.py
@@ def f():
 kept
-    pass
+    return 1
@@
-last
*** End of File
*** End Patch`;
    expect(parsePatch(text)).toEqual({
      operations: [
        { kind: "add", path: "path/add.py", content: "abc\n\ndef\n" },
        { kind: "delete", path: "old one.py" },
        {
          kind: "update",
          path: "from.py",
          movePath: "to.py",
          chunks: [
            {
              anchor: "def f():",
              lines: [
                { kind: "context", text: "kept" },
                { kind: "removed", text: "    pass" },
                { kind: "added", text: "    return 1" },
              ],
              atEndOfFile: false,
            },
            { anchor: undefined, lines: [{ kind: "removed", text: "last" }], atEndOfFile: true },
          ],
        },
      ],
    });
  });

  it("may have blanks around its markers and file headers, and Windows line ends", () => {
    expect(parsePatch("\n  *** Begin Patch \r\n\t*** Add File: a b.txt \r\n+x\r\n *** End Patch  \n\n")).toEqual({
      operations: [{ kind: "add", path: "a b.txt", content: "x\n" }],
    });
  });

  it("may add a file without content, and may hold no section at all", () => {
    expect(parsePatch(patchOf("*** Add File: empty"))).toEqual({ operations: [{ kind: "add", path: "empty", content: "" }] });
    expect(parsePatch(patchOf())).toEqual({ operations: [] });
  });

  it.each(["<<EOF", "<<'EOF'", '<<"EOF"'])("may come with the heredoc around it: %s", (start) => {
    expect(parsePatch(`${start}\n${patchOf("*** Delete File: a")}\nEOF\n`)).toEqual({ operations: [{ kind: "delete", path: "a" }] });
  });

  it("reads a blank line in a chunk as an empty context line, and a line of blanks as those after the first", () => {
    expect(chunksOf("@@", "-a", "", "   ", "+b")).toEqual([
      {
        anchor: undefined,
        lines: [
          { kind: "removed", text: "a" },
          { kind: "context", text: "" },
          { kind: "context", text: "  " },
          { kind: "added", text: "b" },
        ],
        atEndOfFile: false,
      },
    ]);
  });

  it("skips blank lines before the first chunk and after the end of file", () => {
    const a = { anchor: undefined, lines: [{ kind: "removed", text: "a" }], atEndOfFile: true };
    const b = { anchor: undefined, lines: [{ kind: "removed", text: "b" }], atEndOfFile: false };
    expect(chunksOf("", "  ", "@@", "-a", "*** End of File", "", "@@", "-b")).toEqual([a, b]);
  });

  it("distinguishes no anchor from an anchor that is a blank line", () => {
    const anchors = chunksOf("@@", "-a", "@@ ", "-b", "@@  x", "-c").map(({ anchor }) => anchor);
    expect(anchors).toEqual([undefined, "", " x"]);
  });
});

describe("a patch that does not parse says why", () => {
  it.each([
    ["nothing", "", "invalid patch: The last line of the patch must be '*** End Patch'"],
    ["no patch", "bad", "invalid patch: The first line of the patch must be '*** Begin Patch'"],
    ["no end", "*** Begin Patch\nbad", "invalid patch: The last line of the patch must be '*** End Patch'"],
    ["only an end", "*** End Patch", "invalid patch: The first line of the patch must be '*** Begin Patch'"],
    ["a heredoc around no patch", "<<EOF\nx\ny\nEOF", "invalid patch: The first line of the patch must be '*** Begin Patch'"],
    ["a heredoc with another word", `<<END\n${patchOf()}\nEND`, "invalid patch: The first line of the patch must be '*** Begin Patch'"],
  ])("envelope: %s", (_, text, message) => {
    expect(complaint(text)).toBe(message);
  });

  it.each([
    ["an unknown header", ["*** Rename File: x"], `invalid hunk at line 2, '*** Rename File: x' is not a valid hunk header. ${HEADERS}`],
    ["a header in lower case", ["*** add file: x"], `invalid hunk at line 2, '*** add file: x' is not a valid hunk header. ${HEADERS}`],
    ["a header without path", ["*** Add File: "], `invalid hunk at line 2, '*** Add File:' is not a valid hunk header. ${HEADERS}`],
    [
      "a blank line in a new file",
      ["*** Add File: n", "+a", "", "+b"],
      `invalid hunk at line 4, '' is not a valid hunk header. ${HEADERS}`,
    ],
    ["something after a delete", ["*** Delete File: d", "-x"], `invalid hunk at line 3, '-x' is not a valid hunk header. ${HEADERS}`],
    ["an update without chunks", ["*** Update File: u"], "invalid hunk at line 2, Update file hunk for path 'u' is empty"],
    ["a move without chunks", ["*** Update File: u", "*** Move to: v"], "invalid hunk at line 2, Update file hunk for path 'u' is empty"],
    ["a chunk without lines", ["*** Update File: u", "@@ x"], "invalid hunk at line 4, Update hunk does not contain any lines"],
    [
      "only an end of file",
      ["*** Update File: u", "@@", "*** End of File"],
      "invalid hunk at line 4, Update hunk does not contain any lines",
    ],
    [
      "a line without prefix",
      ["*** Update File: u", "@@", "foo"],
      `invalid hunk at line 4, Unexpected line found in update hunk: 'foo'. ${PREFIXES}`,
    ],
    [
      "stacked anchors",
      ["*** Update File: u", "@@ a", "@@ b", "-x"],
      `invalid hunk at line 4, Unexpected line found in update hunk: '@@ b'. ${PREFIXES}`,
    ],
    [
      "@@ glued to its text",
      ["*** Update File: u", "@@x", "-x"],
      `invalid hunk at line 3, Unexpected line found in update hunk: '@@x'. ${PREFIXES}`,
    ],
    [
      "a stray line after a chunk",
      ["*** Update File: u", "@@", " a", "-b", "baz"],
      "invalid hunk at line 6, Expected update hunk to start with a @@ context marker, got: 'baz'",
    ],
    ["an indented move", ["*** Update File: u", " *** Move to: v"], "parsed"],
  ])("section: %s", (_, lines, message) => {
    expect(complaint(patchOf(...lines))).toBe(message);
  });

  it("counts lines from the Begin line, even inside a heredoc", () => {
    const text = `<<'EOF'\n${patchOf("*** Add File: n", "+hello", "", "+world")}\nEOF`;
    expect(complaint(text)).toBe(`invalid hunk at line 4, '' is not a valid hunk header. ${HEADERS}`);
  });
});

it("a patch without sections is valid, other text is not", () => {
  const parses = (text: string) => {
    try {
      parsePatch(text);
      return true;
    } catch {
      return false;
    }
  };
  expect([patchOf(), patchOf("*** Delete File: a"), "apply_patch", patchOf("nonsense"), ""].map(parses)).toEqual([
    true,
    true,
    false,
    false,
    false,
  ]);
});
