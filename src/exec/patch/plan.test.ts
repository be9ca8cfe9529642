import { execFileSync } from "node:child_process";
import { mkdir, readdir, symlink, truncate } from "node:fs/promises";
import { describe, expect, it } from "vitest";
import { patchOf } from "../../../test/support/patch/patchText.js";
import { Tree } from "../../../test/support/patch/tree.js";
import type { FileChange } from "../actions.js";
import { fileChangesOf } from "./changes.js";
import { EmptyPatch, PatchInvalid } from "./errors.js";

const UPDATE = ["@@", "-a", "+b"];
const KERNEL = "it lies in /proc, /sys or /dev, which hold no files of a project. Use a command instead.";
const MIB = 1024 * 1024;

async function complaint(tree: Tree, patch: string): Promise<string> {
  const failure = await tree.plan(patch).then(
    () => new PatchInvalid("planned"),
    (error: unknown) => error,
  );
  if (!(failure instanceof PatchInvalid)) throw failure;
  return failure.message.replaceAll(tree.root, "<WS>");
}

async function changesIn(tree: Tree, patch: string): Promise<Record<string, FileChange>> {
  const shown = JSON.stringify(fileChangesOf(await tree.plan(patch))).replaceAll(tree.root, "<WS>");
  return JSON.parse(shown) as Record<string, FileChange>;
}

describe("a plan", () => {
  it("has the current and the future content of every file, and writes nothing", async () => {
    await using tree = await Tree.with({ "a.txt": "a\n", "d.txt": "bye\n", "m.txt": "a" });
    const untouched = await tree.snapshot();
    const sections = ["*** Add File: sub/n.txt", "+new", "*** Update File: a.txt", ...UPDATE, "*** Delete File: d.txt"];
    const plan = await tree.plan(patchOf(...sections, "*** Update File: m.txt", "*** Move to: sub/m.txt", ...UPDATE));
    expect(plan.changes).toEqual([
      { kind: "add", path: tree.at("sub/n.txt"), newContent: "new\n" },
      {
        kind: "update",
        path: tree.at("a.txt"),
        movePath: undefined,
        oldContent: "a\n",
        newContent: "b\n",
        unifiedDiff: "@@ -1 +1 @@\n-a\n+b\n",
      },
      { kind: "delete", path: tree.at("d.txt"), oldContent: "bye\n" },
      {
        kind: "update",
        path: tree.at("m.txt"),
        movePath: tree.at("sub/m.txt"),
        oldContent: "a",
        newContent: "b\n",
        unifiedDiff: "@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+b\n",
      },
    ]);
    expect(plan.summary).toBe("Success. Updated the following files:\nA sub/n.txt\nM a.txt\nM sub/m.txt\nD d.txt\n");
    expect(await tree.snapshot()).toEqual(untouched);
  });

  it("is shown to clients as Codex shows it", async () => {
    await using tree = await Tree.with({ "a.txt": "old\n", "b.txt": "bye\n", "c.txt": "see\n" });
    const update = ["*** Update File: a.txt", "@@", "-old", "+new", "*** Delete File: b.txt"];
    const move = ["*** Update File: c.txt", "*** Move to: d.txt", "@@", "-see", "+sea", "*** Add File: e.txt", "+hello", "+world"];
    expect(await changesIn(tree, patchOf(...update, ...move))).toEqual({
      "<WS>/a.txt": { type: "update", unified_diff: "@@ -1 +1 @@\n-old\n+new\n", move_path: null },
      "<WS>/b.txt": { type: "delete", content: "bye\n" },
      "<WS>/c.txt": { type: "update", unified_diff: "@@ -1 +1 @@\n-see\n+sea\n", move_path: "<WS>/d.txt" },
      "<WS>/e.txt": { type: "add", content: "hello\nworld\n" },
    });
  });

  it("takes absolute paths and paths with dots", async () => {
    await using tree = await Tree.with({ "a.txt": "a\n" });
    const plan = await tree.plan(patchOf(`*** Update File: ${tree.at("x/../a.txt")}`, ...UPDATE, "*** Add File: ./s/../../out.txt", "+o"));
    expect(plan.changes.map(({ path }) => path)).toEqual([tree.at("a.txt"), tree.at("../out.txt")]);
  });

  it("has its own error for a patch without sections", async () => {
    await using tree = await Tree.with();
    await expect(tree.plan(patchOf())).rejects.toThrow(EmptyPatch);
  });
});

describe("several sections for one file build on each other", () => {
  it.each([
    [
      "two updates",
      ["*** Update File: f", "-a", "+b", "*** Update File: f", "-b", "+c"],
      { "<WS>/f": { type: "update", unified_diff: "@@ -1 +1 @@\n-a\n+c\n", move_path: null } },
    ],
    ["added, then updated", ["*** Add File: n", "+a", "*** Update File: n", "-a", "+b"], { "<WS>/n": { type: "add", content: "b\n" } }],
    ["updated, then deleted", ["*** Update File: f", "-a", "+b", "*** Delete File: f"], { "<WS>/f": { type: "delete", content: "a\n" } }],
    ["deleted, then added", ["*** Delete File: f", "*** Add File: f", "+n"], { "<WS>/f": { type: "add", content: "n\n" } }],
    ["added, then deleted", ["*** Add File: n", "+a", "*** Delete File: n"], {}],
    [
      "moved twice",
      ["*** Update File: f", "*** Move to: g", "-a", "+b", "*** Update File: g", "*** Move to: h", "-b", "+c"],
      { "<WS>/f": { type: "update", unified_diff: "@@ -1 +1 @@\n-a\n+c\n", move_path: "<WS>/h" } },
    ],
    [
      "moved there and back",
      ["*** Update File: f", "*** Move to: g", "-a", "+b", "*** Update File: g", "*** Move to: f", "-b", "+c"],
      { "<WS>/f": { type: "update", unified_diff: "@@ -1 +1 @@\n-a\n+c\n", move_path: null } },
    ],
    [
      "moved onto itself",
      ["*** Update File: f", "*** Move to: ./f", "-a", "+b"],
      { "<WS>/f": { type: "update", unified_diff: "@@ -1 +1 @@\n-a\n+b\n", move_path: null } },
    ],
    [
      "moved, then added anew",
      ["*** Update File: f", "*** Move to: g", "-a", "+b", "*** Add File: f", "+n"],
      { "<WS>/f": { type: "add", content: "n\n" }, "<WS>/g": { type: "add", content: "b\n" } },
    ],
    [
      "moved onto another file",
      ["*** Update File: f", "*** Move to: o", "-a", "+b"],
      { "<WS>/f": { type: "update", unified_diff: "@@ -1 +1 @@\n-a\n+b\n", move_path: "<WS>/o" } },
    ],
    ["an existing file added", ["*** Add File: f", "+n"], { "<WS>/f": { type: "add", content: "n\n" } }],
  ])("%s", async (_, sections, changes) => {
    await using tree = await Tree.with({ f: "a\n", o: "other\n" });
    expect(await changesIn(tree, patchOf(...sections))).toEqual(changes);
  });

  it("a binary file may be overwritten and then deleted", async () => {
    await using tree = await Tree.with({ bin: Buffer.from([0x61, 0xff]) });
    const changes = await changesIn(tree, patchOf("*** Add File: bin", "+x", "*** Delete File: bin"));
    expect(changes).toEqual({ "<WS>/bin": { type: "delete", content: "a\ufffd" } });
  });

  it("a file is listed once, however often it is updated, and as often as it is added", async () => {
    await using tree = await Tree.with({ f: "a\n" });
    const updated = await tree.plan(patchOf("*** Update File: f", "-a", "+b", "*** Update File: f", "-b", "+c"));
    const added = await tree.plan(patchOf("*** Add File: n", "+a", "*** Add File: n", "+b"));
    expect([updated.summary, added.summary]).toEqual([
      "Success. Updated the following files:\nM f\n",
      "Success. Updated the following files:\nA n\nA n\n",
    ]);
  });
});

describe("a patch that does not fit the disk is refused", () => {
  it.each([
    [
      "an update of a missing file",
      ["*** Update File: no.txt", ...UPDATE],
      "Failed to read file to update <WS>/no.txt: No such file or directory (os error 2)",
    ],
    ["a deletion of a missing file", ["*** Delete File: no.txt"], "Failed to read <WS>/no.txt: No such file or directory (os error 2)"],
    [
      "an update of a file the patch deletes",
      ["*** Delete File: a.txt", "*** Update File: a.txt", ...UPDATE],
      "Failed to read file to update <WS>/a.txt: No such file or directory (os error 2)",
    ],
    [
      "an update of a folder",
      ["*** Update File: folder", ...UPDATE],
      "Failed to read file to update <WS>/folder: Is a directory (os error 21)",
    ],
    ["a deletion of a folder", ["*** Delete File: folder"], "Failed to read <WS>/folder: Is a directory (os error 21)"],
    ["a new file where a folder is", ["*** Add File: folder", "+x"], "Failed to write file <WS>/folder: Is a directory (os error 21)"],
    [
      "a move to where a folder is",
      ["*** Update File: a.txt", "*** Move to: folder", ...UPDATE],
      "Failed to write file <WS>/folder: Is a directory (os error 21)",
    ],
    [
      "a move to nowhere",
      ["*** Update File: a.txt", "*** Move to: ", ...UPDATE],
      "Failed to write file <WS>: Is a directory (os error 21)",
    ],
    [
      "an update below a file",
      ["*** Update File: a.txt/b", ...UPDATE],
      "Failed to read file to update <WS>/a.txt/b: Not a directory (os error 20)",
    ],
    [
      "an update of a binary file",
      ["*** Update File: binary", ...UPDATE],
      "Failed to read file to update <WS>/binary: stream did not contain valid UTF-8",
    ],
    ["a deletion of a binary file", ["*** Delete File: binary"], "Failed to read <WS>/binary: stream did not contain valid UTF-8"],
    [
      "a link that leads in circles",
      ["*** Update File: circle", ...UPDATE],
      "Failed to read file to update <WS>/circle: Too many levels of symbolic links (os error 40)",
    ],
    ["a pipe nobody writes to", ["*** Update File: pipe", ...UPDATE], "Failed to read file to update <WS>/pipe: it is not a regular file"],
    ["a device", ["*** Add File: full", "+x"], `Failed to write file <WS>/full: ${KERNEL}`],
    ["a new file of the kernel", ["*** Add File: /sys/patched", "+x"], `Failed to write file /sys/patched: ${KERNEL}`],
    ["the server's environment", ["*** Delete File: /proc/self/environ"], `Failed to read /proc/self/environ: ${KERNEL}`],
    ["a file without an end", ["*** Update File: endless", ...UPDATE], `Failed to read file to update <WS>/endless: ${KERNEL}`],
    ["a sparse file", ["*** Update File: sparse", ...UPDATE], "Failed to read file to update <WS>/sparse: it is larger than 8 MiB"],
    [
      "large files, each of which alone would be accepted",
      ["*** Delete File: large1", "*** Delete File: large2", "*** Delete File: large3"],
      "the files of this patch are too large together. Send several smaller patches.",
    ],
    [
      "more lines than can be compared",
      ["*** Delete File: lines1", "*** Delete File: lines2"],
      "the files of this patch have more than 500000 lines together. Send smaller patches, or change such files with a command.",
    ],
    [
      "many sections for a file of many lines",
      Array.from({ length: 3 }, () => ["*** Update File: lines1", "@@", "+x"]).flat(),
      "this patch has too many sections for <WS>/lines1. Write its changes as one section.",
    ],
    [
      "many sections for a large file",
      [
        "*** Update File: large1",
        "*** Move to: moved",
        "@@",
        "+x",
        ...Array.from({ length: 3 }, () => ["*** Update File: moved", "@@", "+x"]).flat(),
      ],
      "this patch has too many sections for <WS>/moved. Write its changes as one section.",
    ],
    ["a name with a NUL", ["*** Add File: a\0b", "+x"], 'invalid path "a\\u0000b": file name contained an unexpected NUL byte'],
    ["lines that are not there", ["*** Update File: a.txt", "-x"], "Failed to find expected lines in <WS>/a.txt:\nx"],
    ["a context that is not there", ["*** Update File: a.txt", "@@ x", "-a"], "Failed to find context 'x' in <WS>/a.txt"],
    [
      "one bad section among good ones",
      ["*** Add File: ok", "+1", "*** Update File: no.txt", ...UPDATE],
      "Failed to read file to update <WS>/no.txt: No such file or directory (os error 2)",
    ],
  ])("%s", async (_, sections, message) => {
    const manyLines = "\n".repeat(300_000);
    await using tree = await Tree.with({
      "a.txt": "a\n",
      binary: Buffer.from([0x61, 0xff, 0x00, 0x62]),
      lines1: manyLines,
      lines2: manyLines,
    });
    await mkdir(tree.at("folder"));
    await symlink("circle", tree.at("circle"));
    await symlink("/dev/full", tree.at("full"));
    await symlink("/proc/self/pagemap", tree.at("endless"));
    for (const [name, size] of [
      ["sparse", 2 ** 31],
      ["large1", 6 * MIB],
      ["large2", 6 * MIB],
      ["large3", 6 * MIB],
    ] as const) {
      await tree.write(name, "");
      await truncate(tree.at(name), size);
    }
    execFileSync("mkfifo", [tree.at("pipe")]);
    const untouched = await readdir(tree.root);
    expect(await complaint(tree, patchOf(...sections))).toBe(message);
    expect(await readdir(tree.root)).toEqual(untouched);
  });
});

it("unreadable files are neither shown nor examined, even through links", async () => {
  await using tree = await Tree.with({ "a.txt": "a\n" });
  await using secret = await Tree.with({ key: "a\n" });
  await symlink(secret.at("key"), tree.at("link"));
  await symlink(secret.root, tree.at("folder"));
  const mayRead = (file: string) => !file.startsWith(secret.root);
  for (const name of ["link", "folder/key", "folder/missing", secret.at("key")])
    for (const sections of [
      [`*** Update File: ${name}`, "-a", "+b"],
      [`*** Update File: ${name}`, "-wrong guess", "+b"],
      [`*** Update File: ${name}`, "*** Move to: copy.txt", "-a", "+b"],
      [`*** Delete File: ${name}`],
      [`*** Add File: ${name}`, "+x"],
      ["*** Update File: a.txt", `*** Move to: ${name}`, "-a", "+b"],
    ])
      await expect(tree.plan(patchOf(...sections), { mayRead }), sections.join()).rejects.toThrow(/: it is kept from this thread/);
});
