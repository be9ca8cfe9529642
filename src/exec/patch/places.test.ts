import { mkdir, rename, symlink, writeFile } from "node:fs/promises";
import { describe, expect, it } from "vitest";
import { Tree } from "../../../test/support/patch/tree.js";
import { HeldFolders } from "./places.js";

describe.each([
  ["by descriptor", true],
  ["by path", false],
])("folders held %s", (_, byDescriptor) => {
  it.runIf(!byDescriptor || process.platform === "linux")("are opened, created if missing, and removed again", async () => {
    await using tree = await Tree.with({ "there/f": "x\n" });
    await using folders = new HeldFolders({ byDescriptor });
    const folder = await folders.open(tree.at("there/a/b"), { create: true });
    await writeFile(folder.at("n"), "new\n");
    expect(await tree.texts()).toEqual({ "there/a/b/n": "new\n", "there/f": "x\n" });
    await folders.open(tree.at("there/c/d"), { create: true });
    await folders.removeMade();
    expect(Object.keys(await tree.snapshot())).toEqual(["there", "there/a", "there/a/b", "there/a/b/n", "there/f"]);
  });

  it.runIf(!byDescriptor || process.platform === "linux")("are never opened through a link, nor created unless requested", async () => {
    await using tree = await Tree.with({ "real/sub/f": "x\n" });
    await symlink("real", tree.at("alias"));
    await using folders = new HeldFolders({ byDescriptor });
    await expect(folders.open(tree.at("alias"), { create: true })).rejects.toThrow();
    await expect(folders.open(tree.at("alias/sub"), { create: true })).rejects.toThrow();
    await expect(folders.open(tree.at("real/sub/f"), { create: true })).rejects.toThrow();
    await expect(folders.open(tree.at("missing"), { create: false })).rejects.toMatchObject({ code: "ENOENT" });
  });
});

describe("a folder whose name has come to lead somewhere else", () => {
  it.runIf(process.platform === "linux")("is still the same one by its descriptor", async () => {
    await using tree = await Tree.with();
    await mkdir(tree.at("f"));
    await mkdir(tree.at("trap"));
    await using folders = new HeldFolders({ byDescriptor: true });
    const folder = await folders.open(tree.at("f"), { create: false });
    await rename(tree.at("f"), tree.at("moved"));
    await symlink("trap", tree.at("f"));
    await writeFile(folder.at("n"), "x\n");
    expect(await tree.texts()).toEqual({ "moved/n": "x\n" });
  });

  it("is noticed where folders are identified by path only", async () => {
    await using tree = await Tree.with();
    await mkdir(tree.at("f"));
    await using folders = new HeldFolders({ byDescriptor: false });
    const folder = await folders.open(tree.at("f"), { create: false });
    await folder.confirm();
    await rename(tree.at("f"), tree.at("moved"));
    await symlink("moved", tree.at("f"));
    await expect(folder.confirm()).rejects.toThrow(`${tree.at("f")} is not a folder`);
  });
});
