import { readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { chmod, mkdir, rm, stat, symlink } from "node:fs/promises";
import { setImmediate } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { patchOf } from "../../../test/support/patch/patchText.js";
import { Tree } from "../../../test/support/patch/tree.js";
import { applyPlan } from "./apply.js";
import { PatchFailed } from "./errors.js";

const EDIT = ["*** Update File: a.txt", "-a", "+b"];
const CHANGED = "it was changed after the patch had been checked. Read it again, then send a new patch.";
const LONG_NAME = "n".repeat(300);

async function failure(work: Promise<unknown>): Promise<{ reason: string; message: string }> {
  const error = await work.then(
    () => new Error("it worked"),
    (reason: unknown) => reason,
  );
  if (!(error instanceof PatchFailed)) throw error;
  return { reason: error.reason, message: error.message };
}

describe("a patch is applied", () => {
  it("to files that are added, updated, moved and deleted, folders made as needed", async () => {
    await using tree = await Tree.with({ "a.txt": "a\n", "old/m.txt": "a\n", "d.txt": "d\n" });
    const summary = await tree.apply(
      patchOf(
        ...EDIT,
        "*** Add File: x/y/n.txt",
        "+n",
        "*** Delete File: d.txt",
        "*** Update File: old/m.txt",
        "*** Move to: new/m.txt",
        "-a",
        "+m",
      ),
    );
    expect(summary).toBe("Success. Updated the following files:\nA x/y/n.txt\nM a.txt\nM new/m.txt\nD d.txt\n");
    expect(await tree.texts()).toEqual({ "a.txt": "b\n", "new/m.txt": "m\n", "x/y/n.txt": "n\n" });
    expect(Object.keys(await tree.snapshot())).toEqual(["a.txt", "new", "new/m.txt", "old", "x", "x/y", "x/y/n.txt"]);
  });

  it("over files that exist, and by absolute path", async () => {
    await using tree = await Tree.with({ "a.txt": "a\n", b: Buffer.from([0xff]), c: "c\n" });
    await tree.apply(patchOf(`*** Add File: ${tree.at("b")}`, "+text", "*** Update File: a.txt", "*** Move to: c", "-a", "+A"));
    expect(await tree.texts()).toEqual({ b: "text\n", c: "A\n" });
  });

  it("without changing a file's mode, even when it moves", async () => {
    await using tree = await Tree.with({ "a.txt": "a\n", "run.sh": "a\n" });
    await chmod(tree.at("a.txt"), 0o640);
    await chmod(tree.at("run.sh"), 0o4755);
    await tree.apply(patchOf(...EDIT, "*** Update File: run.sh", "*** Move to: go.sh", "-a", "+b", "*** Add File: n", "+n"));
    const usual = (0o666 & ~process.umask()).toString(8);
    expect(await tree.snapshot()).toEqual({
      "a.txt": { mode: "640", text: "b\n" },
      "go.sh": { mode: "755", text: "b\n" },
      n: { mode: usual, text: "n\n" },
    });
  });

  it("and a file is never missing while its new content takes the place of the old", async () => {
    await using tree = await Tree.with({ "a.txt": "a\n" });
    const plan = await tree.plan(patchOf(...EDIT));
    let isDone = false;
    const applying = applyPlan(plan, { mayWrite: tree.mayWrite, mayRead: () => true }).finally(() => {
      isDone = true;
    });
    const seen = new Set<string>();
    while (!isDone) {
      seen.add(readFileSync(tree.at("a.txt"), "utf8"));
      await setImmediate();
    }
    await applying;
    expect([...seen, readFileSync(tree.at("a.txt"), "utf8")].every((text) => text === "a\n" || text === "b\n")).toBe(true);
  });

  it("and a file that it adds and deletes is gone", async () => {
    await using tree = await Tree.with();
    await tree.apply(patchOf("*** Add File: t", "+x", "*** Delete File: t"));
    expect(await tree.snapshot()).toEqual({});
  });
});

describe("all files or none", () => {
  it.each([
    [
      "the parent of a new file is a file",
      ["*** Add File: a.txt/n", "+x"],
      "Failed to create parent directories for a.txt/n: Not a directory (os error 20)",
    ],
    ["a name is too long", [`*** Add File: s/${LONG_NAME}`, "+x"], `Failed to write file s/${LONG_NAME}: File name too long (os error 36)`],
    [
      "a folder's name is too long",
      [`*** Add File: s/${LONG_NAME}/f`, "+x"],
      `Failed to create parent directories for s/${LONG_NAME}/f: File name too long (os error 36)`,
    ],
    ["a link leads nowhere", ["*** Add File: dangling", "+x"], "Failed to write file dangling: No such file or directory (os error 2)"],
    [
      "two names lead to one file",
      ["*** Update File: alias", "-a", "+c"],
      "Failed to write file alias: it is the same file as a.txt. Use one of the names only.",
    ],
  ])("when %s", async (_, sections, message) => {
    await using tree = await Tree.with({ "a.txt": "a\n", "d/d.txt": "d\n", "m.txt": "a\n" });
    await symlink("nowhere", tree.at("dangling"));
    await symlink("a.txt", tree.at("alias"));
    const untouched = await tree.snapshot();
    const others = [
      ...EDIT,
      "*** Add File: x/y/n.txt",
      "+n",
      "*** Delete File: d/d.txt",
      "*** Update File: m.txt",
      "*** Move to: z/m.txt",
      "-a",
      "+m",
    ];
    const plan = await tree.plan(patchOf(...others, ...sections));
    expect(await failure(applyPlan(plan, { mayWrite: () => true, mayRead: () => true }))).toEqual({
      reason: "failed",
      message: expect.stringContaining(message),
    });
    expect(await tree.snapshot()).toEqual(untouched);
  });

  it("when a file changes while the others are being written", async () => {
    await using tree = await Tree.with({ "a.txt": "a\n", "b.txt": "b\n", "c.txt": "c\n", "m.txt": "a\n" });
    const untouched = await tree.snapshot();
    const move = ["*** Update File: m.txt", "*** Move to: z/m.txt", "-a", "+m"];
    const plan = await tree.plan(
      patchOf(
        ...EDIT,
        "*** Delete File: b.txt",
        ...move,
        "*** Add File: n",
        "+n",
        "*** Update File: c.txt",
        "-c",
        "+C",
        "*** Add File: last",
        "+l",
      ),
    );
    // Called for the last file after the earlier ones are checked, and before any is written.
    const mayWrite = (realPath: string) => {
      if (realPath === tree.at("last")) writeFileSync(tree.at("c.txt"), "somebody else's\n");
      return true;
    };
    expect(await failure(applyPlan(plan, { mayWrite, mayRead: () => true }))).toEqual({
      reason: "changed",
      message: `Failed to write file c.txt: ${CHANGED}`,
    });
    expect(await tree.snapshot()).toEqual({ ...untouched, "c.txt": { ...untouched["c.txt"], text: "somebody else's\n" } });
  });

  it.each([
    ["an updated file was edited", EDIT, (tree: Tree) => tree.write("a.txt", "edited\n"), "Failed to write file a.txt"],
    ["an updated file is gone", EDIT, (tree: Tree) => rm(tree.at("a.txt")), "Failed to write file a.txt"],
    ["a new file is there already", ["*** Add File: n", "+n"], (tree: Tree) => tree.write("n", "theirs\n"), "Failed to write file n"],
    [
      "a deleted file was edited",
      ["*** Delete File: a.txt"],
      (tree: Tree) => tree.write("a.txt", "edited\n"),
      "Failed to delete file a.txt",
    ],
    [
      "a moved file is gone",
      ["*** Update File: a.txt", "*** Move to: b", "-a", "+b"],
      (tree: Tree) => rm(tree.at("a.txt")),
      "Failed to remove original a.txt",
    ],
  ])("when %s since the patch was checked", async (_, sections, change, attempt) => {
    await using tree = await Tree.with({ "a.txt": "a\n" });
    const plan = await tree.plan(patchOf(...sections));
    await change(tree);
    const changed = await tree.snapshot();
    expect(await failure(applyPlan(plan, { mayWrite: tree.mayWrite, mayRead: () => true }))).toEqual({
      reason: "changed",
      message: `${attempt}: ${CHANGED}`,
    });
    expect(await tree.snapshot()).toEqual(changed);
  });

  it("when a file has become a folder since the patch was checked", async () => {
    await using tree = await Tree.with({ "a.txt": "a\n" });
    const plan = await tree.plan(patchOf("*** Add File: n", "+n", ...EDIT));
    await rm(tree.at("a.txt"));
    await mkdir(tree.at("a.txt"));
    expect(await failure(applyPlan(plan, { mayWrite: tree.mayWrite, mayRead: () => true }))).toEqual({
      reason: "failed",
      message: "Failed to write file a.txt: Is a directory (os error 21)",
    });
    expect(Object.keys(await tree.snapshot())).toEqual(["a.txt"]);
  });

  it("when the new content disappears before it is put in place", async () => {
    await using tree = await Tree.with({ "a.txt": "a\n" });
    const untouched = await tree.snapshot();
    const plan = await tree.plan(patchOf(...EDIT, "*** Add File: last", "+l"));
    const mayWrite = (realPath: string) => {
      const prepared = readdirSync(tree.root).find((name) => name.startsWith(".patch-"));
      if (realPath === tree.at("last") && prepared !== undefined) rmSync(tree.at(prepared));
      return true;
    };
    const message = "Failed to write file a.txt: No such file or directory (os error 2)";
    expect(await failure(applyPlan(plan, { mayWrite, mayRead: () => true }))).toEqual({ reason: "failed", message });
    expect(await tree.snapshot()).toEqual(untouched);
  });

  it("and a restored file is the original one, with the same inode", async () => {
    await using tree = await Tree.with({ "a.txt": "a\n", "b.txt": "b\n" });
    const identity = async () => {
      const { ino, mtimeNs, mode } = await stat(tree.at("a.txt"), { bigint: true });
      return { ino, mtimeNs, mode };
    };
    const before = await identity();
    const plan = await tree.plan(patchOf(...EDIT, "*** Update File: b.txt", "-b", "+B", "*** Add File: last", "+l"));
    const mayWrite = (realPath: string) => {
      if (realPath === tree.at("last")) writeFileSync(tree.at("b.txt"), "somebody else's\n");
      return true;
    };
    expect(await failure(applyPlan(plan, { mayWrite, mayRead: () => true }))).toMatchObject({ reason: "changed" });
    expect(await identity()).toEqual(before);
  });
});
