import { lstat, mkdir, mkdtemp, readdir, readFile, readlink, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { applyPlan } from "../../../src/exec/patch/apply.js";
import { parsePatch } from "../../../src/exec/patch/parse.js";
import { type PatchPlan, planPatch } from "../../../src/exec/patch/plan.js";
import type { MayRead } from "../../../src/lib/files/guardedRead.js";

/** A temporary folder with some files, removed afterwards. */
export class Tree implements AsyncDisposable {
  private constructor(readonly root: string) {}

  static async with(files: Readonly<Record<string, string | Buffer>> = {}): Promise<Tree> {
    const tree = new Tree(await realpath(await mkdtemp(path.join(tmpdir(), "patch-"))));
    for (const [name, content] of Object.entries(files)) await tree.write(name, content);
    return tree;
  }

  at(name: string): string {
    return path.join(this.root, name);
  }

  async write(name: string, content: string | Buffer): Promise<void> {
    await mkdir(path.dirname(this.at(name)), { recursive: true });
    await writeFile(this.at(name), content);
  }

  plan(patch: string, { mayRead = () => true }: { mayRead?: MayRead } = {}): Promise<PatchPlan> {
    return planPatch(parsePatch(patch), { cwd: this.root, mayRead });
  }

  /** Plans and applies; only files inside the tree, after resolving links, may be written. Returns the summary. */
  async apply(patch: string): Promise<string> {
    const plan = await this.plan(patch);
    await applyPlan(plan, { mayWrite: this.mayWrite, mayRead: () => true });
    return plan.summary;
  }

  readonly mayWrite = (realPath: string): boolean => realPath.startsWith(`${this.root}${path.sep}`);

  /** Every regular file's text. */
  async texts(): Promise<Record<string, string>> {
    const entries = Object.entries(await this.snapshot());
    return Object.fromEntries(entries.flatMap(([name, { text }]) => (text === undefined ? [] : [[name, text]])));
  }

  /** All entries with type and mode: equal snapshots mean that nothing changed. Links are not followed. */
  async snapshot(folder = ""): Promise<Record<string, Entry>> {
    const snapshot: Record<string, Entry> = {};
    for (const name of (await readdir(this.at(folder))).sort()) {
      const inTree = path.join(folder, name);
      const stats = await lstat(this.at(inTree));
      const mode = (stats.mode & 0o7777).toString(8);
      if (stats.isSymbolicLink()) snapshot[inTree] = { mode, link: await readlink(this.at(inTree)) };
      else if (stats.isFile()) snapshot[inTree] = { mode, text: await readFile(this.at(inTree), "utf8") };
      else Object.assign(snapshot, { [inTree]: { mode } }, stats.isDirectory() ? await this.snapshot(inTree) : {});
    }
    return snapshot;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await rm(this.root, { recursive: true, force: true, maxRetries: 3 });
  }
}

interface Entry {
  readonly mode: string;
  readonly text?: string;
  readonly link?: string;
}
