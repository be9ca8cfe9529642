import { chmod, mkdir, rm, writeFile } from "node:fs/promises";
import { describe, expect, it } from "vitest";
import { patchOf } from "../../../test/support/patch/patchText.js";
import { Tree } from "../../../test/support/patch/tree.js";
import { applyPlan } from "./apply.js";
import { TurnDiff } from "./changes.js";

const EDIT_ALL = patchOf(
  "*** Update File: a.txt",
  "@@",
  "-old",
  "+new",
  "*** Delete File: b.txt",
  "*** Update File: c.txt",
  "*** Move to: d.txt",
  "@@",
  "-see",
  "+sea",
);

async function diffAfter(tree: Tree, ...patches: string[]): Promise<string | undefined> {
  const diff = new TurnDiff();
  for (const patch of patches) {
    const plan = await tree.plan(patch);
    await applyPlan(plan, { mayWrite: tree.mayWrite, mayRead: () => true });
    diff.add(plan);
  }
  return textOf(diff, tree);
}

async function textOf(diff: TurnDiff, tree: Tree): Promise<string | undefined> {
  return (await diff.text({ mayRead: () => true }))?.replaceAll(tree.root, "<WS>");
}

describe("the diff of a turn whose patched files were changed by commands afterwards", () => {
  const NOTES = patchOf("*** Add File: notes.txt", "+one");

  async function patched(tree: Tree, patch: string): Promise<TurnDiff> {
    const diff = new TurnDiff();
    const plan = await tree.plan(patch);
    await applyPlan(plan, { mayWrite: tree.mayWrite, mayRead: () => true });
    diff.add(plan);
    return diff;
  }

  it("shows what is on disk", async () => {
    await using tree = await Tree.with();
    const diff = await patched(tree, NOTES);
    await writeFile(tree.at("notes.txt"), "one\ntwo\n");
    expect(await textOf(diff, tree)).toMatch(/@@ -0,0 \+1,2 @@\n\+one\n\+two\n$/);
  });

  it("leaves out a new file that is gone again", async () => {
    await using tree = await Tree.with();
    const diff = await patched(tree, NOTES);
    await rm(tree.at("notes.txt"));
    expect(await textOf(diff, tree)).toBeUndefined();
  });

  it("shows what the patch left where the file may not be read any more", async () => {
    await using tree = await Tree.with();
    const diff = await patched(tree, NOTES);
    await writeFile(tree.at("notes.txt"), "secret\n");
    expect(await diff.text({ mayRead: () => false })).toMatch(/\+one\n$/);
  });

  it("has only a header for an empty file", async () => {
    await using tree = await Tree.with();
    const diff = await patched(tree, patchOf("*** Add File: empty.txt"));
    expect(await textOf(diff, tree)).toBe(
      "diff --git a/<WS>/empty.txt b/<WS>/empty.txt\nnew file mode 100644\nindex 0000000000000000000000000000000000000000..e69de29bb2d1d6434b8b29ae775ad8c2e48c5391\n",
    );
  });
});

describe("the diff of a turn", () => {
  it("shows edited, deleted and moved files as Codex does", async () => {
    await using tree = await Tree.with({ "a.txt": "old\n", "b.txt": "bye\n", "c.txt": "see\n" });
    expect(await diffAfter(tree, EDIT_ALL)).toBe(`diff --git a/<WS>/a.txt b/<WS>/a.txt
index 3367afdbbf91e638efe983616377c60477cc6612..3e757656cf36eca53338e520d134963a44f793f8
--- a/<WS>/a.txt
+++ b/<WS>/a.txt
@@ -1 +1 @@
-old
+new
diff --git a/<WS>/b.txt b/<WS>/b.txt
deleted file mode 100644
index b023018cabc396e7692c70bbf5784a93d3f738ab..0000000000000000000000000000000000000000
--- a/<WS>/b.txt
+++ /dev/null
@@ -1 +0,0 @@
-bye
diff --git a/<WS>/c.txt b/<WS>/d.txt
index d859c29f57731cc96afb78edf8e423b41b368fec..558ad609198f9083259cf1823181bd14daa3d0ef
--- a/<WS>/c.txt
+++ b/<WS>/d.txt
@@ -1 +1 @@
-see
+sea
`);
  });

  it("shows a new file, by its path in the repository if there is one", async () => {
    await using tree = await Tree.with();
    await mkdir(tree.at(".git"));
    await writeFile(tree.at(".git/HEAD"), "ref: refs/heads/main\n");
    expect(await diffAfter(tree, patchOf("*** Add File: src/new.txt", "+hello", "+world"))).toBe(`diff --git a/src/new.txt b/src/new.txt
new file mode 100644
index 0000000000000000000000000000000000000000..94954abda49de8615a048f8d2e64b5de848e27a1
--- /dev/null
+++ b/src/new.txt
@@ -0,0 +1,2 @@
+hello
+world
`);
  });

  it("covers the whole turn: later patches build on earlier ones", async () => {
    await using tree = await Tree.with({ "a.txt": "1\n2\n3\n4\n5\n" });
    const text = await diffAfter(
      tree,
      patchOf("*** Update File: a.txt", "-1", "+one"),
      patchOf("*** Update File: a.txt", "*** Move to: b.txt", "-5", "+five"),
      patchOf("*** Update File: b.txt", "*** Move to: c.txt", "-one", "+uno"),
      patchOf("*** Add File: gone.txt", "+x"),
      patchOf("*** Delete File: gone.txt"),
    );
    expect(text).toBe(`diff --git a/<WS>/a.txt b/<WS>/c.txt
index 8a1218a1024a212bb3db30becd860315f9f3ac52..88969babd528d1c6f2b01fc8b75cb100d33b705a
--- a/<WS>/a.txt
+++ b/<WS>/c.txt
@@ -1,5 +1,5 @@
-1
+uno
 2
 3
 4
-5
+five
`);
  });

  it("shows a move onto another file as a deletion and an edit", async () => {
    await using tree = await Tree.with({ "a.txt": "a\n", "b.txt": "b\n" });
    const text = await diffAfter(tree, patchOf("*** Update File: a.txt", "*** Move to: b.txt", "-a", "+A"));
    expect(text?.match(/^(diff|deleted|[-+]).*$/gm)).toEqual([
      "diff --git a/<WS>/a.txt b/<WS>/a.txt",
      "deleted file mode 100644",
      "--- a/<WS>/a.txt",
      "+++ /dev/null",
      "-a",
      "diff --git a/<WS>/b.txt b/<WS>/b.txt",
      "--- a/<WS>/b.txt",
      "+++ b/<WS>/b.txt",
      "-b",
      "+A",
    ]);
  });

  it("shows the modes of executable files, and a mode that changed with the content", async () => {
    await using tree = await Tree.with({ "gone.sh": "1\n", "plain.sh": "1\n" });
    await chmod(tree.at("gone.sh"), 0o755);
    const diff = new TurnDiff();
    const patch = ["*** Delete File: gone.sh", "*** Add File: new.sh", "+1", "*** Update File: plain.sh", "-1", "+2"];
    const plan = await tree.plan(patchOf(...patch));
    await applyPlan(plan, { mayWrite: tree.mayWrite, mayRead: () => true });
    diff.add(plan);
    await chmod(tree.at("new.sh"), 0o755);
    await chmod(tree.at("plain.sh"), 0o610);
    expect((await textOf(diff, tree))?.match(/^(diff|deleted|new|old).*$/gm)).toEqual([
      "diff --git a/<WS>/gone.sh b/<WS>/gone.sh",
      "deleted file mode 100755",
      "diff --git a/<WS>/new.sh b/<WS>/new.sh",
      "new file mode 100755",
      "diff --git a/<WS>/plain.sh b/<WS>/plain.sh",
      "old mode 100644",
      "new mode 100755",
    ]);
  });

  it("says only that they differ when a binary file was overwritten", async () => {
    await using tree = await Tree.with({ logo: Buffer.from([0xff, 0xfe, 0]) });
    const text = await diffAfter(tree, patchOf("*** Add File: logo", "+text"));
    expect(text?.split("\n").slice(2)).toEqual(["--- a/<WS>/logo", "+++ b/<WS>/logo", "Binary files differ", ""]);
  });

  it("is empty when everything is back as it was", async () => {
    await using tree = await Tree.with({ "a.txt": "a\n" });
    const there = patchOf("*** Update File: a.txt", "*** Move to: b.txt", "-a", "+b");
    const back = patchOf("*** Update File: b.txt", "*** Move to: a.txt", "-b", "+a");
    expect(await diffAfter(tree, there, back)).toBeUndefined();
  });
});
