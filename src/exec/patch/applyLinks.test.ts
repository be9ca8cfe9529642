import { lstat, mkdir, readlink, symlink } from "node:fs/promises";
import { describe, expect, it } from "vitest";
import { patchOf } from "../../../test/support/patch/patchText.js";
import { Tree } from "../../../test/support/patch/tree.js";
import { applyPlan } from "./apply.js";
import { PatchFailed } from "./errors.js";
import { touchedPaths } from "./places.js";
import type { PatchPlan } from "./plan.js";

/** A writable workspace and a read-only folder beside it, with links from one to the other. */
async function stage(): Promise<AsyncDisposable & { inside: Tree; outside: Tree }> {
  const inside = await Tree.with({ "a.txt": "a\n", "real/r.txt": "a\n" });
  const outside = await Tree.with({ "secret.txt": "a\n", "sub/s.txt": "a\n" });
  await symlink(outside.root, inside.at("out"));
  await symlink(outside.at("secret.txt"), inside.at("secret"));
  await symlink("real", inside.at("alias"));
  await symlink("real/r.txt", inside.at("r-alias"));
  return {
    inside,
    outside,
    [Symbol.asyncDispose]: async () => {
      await inside[Symbol.asyncDispose]();
      await outside[Symbol.asyncDispose]();
    },
  };
}

async function pathsOf(plan: PatchPlan): Promise<string[]> {
  return (await touchedPaths(plan)).map(({ real }) => real);
}

const EDIT = ["-a", "+b"];

describe("files outside are never changed", () => {
  it.each([
    ["by an absolute path", (out: string) => [`*** Add File: ${out}/n`, "+x"], "n"],
    ["by dots", (out: string) => [`*** Add File: sub/../../${out.split("/").at(-1)}/n`, "+x"], "n"],
    ["through a linked folder", () => ["*** Add File: out/n", "+x"], "n"],
    ["in a new folder below a linked folder", () => ["*** Add File: out/new/deep/n", "+x"], "new/deep/n"],
    ["by an update through a linked folder", () => ["*** Update File: out/sub/s.txt", ...EDIT], "sub/s.txt"],
    ["by an update through a linked file", () => ["*** Update File: secret", ...EDIT], "secret.txt"],
    ["by a new file where a link is", () => ["*** Add File: secret", "+x"], "secret.txt"],
    ["by a deletion through a linked folder", () => ["*** Delete File: out/sub/s.txt"], "sub/s.txt"],
    ["by a move to the outside", () => ["*** Update File: a.txt", "*** Move to: out/moved", ...EDIT], "moved"],
    ["by a deletion of a link to it", () => ["*** Delete File: secret"], "secret.txt"],
    ["by a copy made by moving a link to it", () => ["*** Update File: secret", "*** Move to: mine", ...EDIT], "secret.txt"],
    ["by a move from the outside", () => ["*** Update File: out/sub/s.txt", "*** Move to: mine", ...EDIT], "sub/s.txt"],
  ])("%s", async (_, sections, refused) => {
    await using folders = await stage();
    const { inside, outside } = folders;
    const untouched = [await inside.snapshot(), await outside.snapshot()];
    const plan = await inside.plan(patchOf("*** Add File: first", "+1", ...sections(outside.root)));
    const error = await applyPlan(plan, { mayWrite: inside.mayWrite, mayRead: () => true }).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(PatchFailed);
    expect(error).toMatchObject({
      reason: "denied",
      message: expect.stringMatching(/ (?:is outside|is a link out) of the folders that may be written/),
    });
    expect([await inside.snapshot(), await outside.snapshot()]).toEqual(untouched);
    expect((await pathsOf(plan)).every(inside.mayWrite)).toBe(false);
    expect(await pathsOf(plan)).toContain(outside.at(refused));
  });
});

describe("links within what may be written", () => {
  it("are followed, and stay links", async () => {
    await using folders = await stage();
    const { inside } = folders;
    const patch = patchOf("*** Update File: r-alias", ...EDIT, "*** Add File: alias/n.txt", "+n");
    const plan = await inside.plan(patch);
    expect(await pathsOf(plan)).toEqual([inside.at("real/r.txt"), inside.at("real/n.txt")]);
    expect((await pathsOf(plan)).every(inside.mayWrite)).toBe(true);
    await applyPlan(plan, { mayWrite: inside.mayWrite, mayRead: () => true });
    expect(await inside.texts()).toEqual({ "a.txt": "a\n", "real/n.txt": "n\n", "real/r.txt": "b\n" });
    expect(await readlink(inside.at("r-alias"))).toBe("real/r.txt");
  });

  it("are removed by a deletion, and their targets stay", async () => {
    await using folders = await stage();
    const { inside } = folders;
    await symlink("a.txt", inside.at("a-alias"));
    await inside.apply(patchOf("*** Delete File: a-alias", "*** Update File: r-alias", "*** Move to: moved.txt", ...EDIT));
    expect(await inside.texts()).toEqual({ "a.txt": "a\n", "moved.txt": "b\n", "real/r.txt": "a\n" });
    await expect(lstat(inside.at("a-alias"))).rejects.toMatchObject({ code: "ENOENT" });
  });

  it("may lead from outside back into what may be written", async () => {
    await using folders = await stage();
    const { inside, outside } = folders;
    await symlink(inside.at("real"), outside.at("back"));
    await inside.apply(patchOf(`*** Update File: ${outside.at("back/r.txt")}`, ...EDIT));
    expect((await inside.texts())["real/r.txt"]).toBe("b\n");
  });
});

describe("the check whether all files may be written", () => {
  it("judges folders that do not exist yet by the nearest one that does", async () => {
    await using folders = await stage();
    const { inside, outside } = folders;
    await mkdir(inside.at("real/.git"));
    await symlink("real/.git", inside.at("hidden"));
    const plan = await inside.plan(
      patchOf("*** Add File: alias/new/n", "+x", "*** Add File: out/new/n", "+x", "*** Add File: hidden/hooks/h", "+x"),
    );
    expect(await pathsOf(plan)).toEqual([inside.at("real/new/n"), outside.at("new/n"), inside.at("real/.git/hooks/h")]);
  });

  it("counts the source and the destination of a move", async () => {
    await using folders = await stage();
    const plan = await folders.inside.plan(patchOf("*** Update File: a.txt", "*** Move to: x/b.txt", ...EDIT));
    expect(await pathsOf(plan)).toEqual([folders.inside.at("a.txt"), folders.inside.at("a.txt"), folders.inside.at("x/b.txt")]);
  });
});
