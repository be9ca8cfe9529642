import { mkdir, writeFile } from "node:fs/promises";
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
  return diff.text()?.replaceAll(tree.root, "<WS>");
}

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

  it("is about the whole turn: later patches build on earlier ones", async () => {
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
