import { mkdirSync, mkdtempSync, realpathSync, rmdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { PlaceMoved, ProgramNotStarted } from "../errors.js";
import { entryPath, type HeldPlaceholder, type Leaving, type NamedPlace, Placeholders } from "./placeholders.js";
import { type MountedConfinement, openTree } from "./tree.js";

/** Another server, with another CODEX_HOME, has a placeholder at each place when we look there, and removes it at once. */
class BesideAnotherServer extends Placeholders {
  readonly #seen = new Set<string>();

  override hold(place: NamedPlace, leaving?: Leaving): HeldPlaceholder | undefined {
    if (this.#seen.has(place.name)) return super.hold(place, leaving);
    this.#seen.add(place.name);
    mkdirSync(entryPath(place));
    const held = super.hold(place, leaving);
    rmdirSync(entryPath(place));
    return held;
  }
}

const NOTHING_ELSE = {
  type: "workspace-write",
  writable_roots: [],
  network_access: false,
  exclude_tmpdir_env_var: true,
  exclude_slash_tmp: true,
} as const;

/** The tree for commands in a new folder. */
function treeWith(placeholders: Placeholders, more: Partial<MountedConfinement> = {}) {
  const workspace = realpathSync(mkdtempSync(path.join(tmpdir(), "tree-")));
  onTestFinished(() => rmSync(workspace, { recursive: true }));
  onTestFinished(() => placeholders.close());
  const nothing = { hidden: [], ownPrograms: [], guarded: [], serverEnv: {} };
  const tree = openTree({ policy: NOTHING_ELSE, workspace, placeholders, ...nothing, ...more }, { firstDescriptor: 3 });
  onTestFinished(() => void tree.release());
  return { tree, workspace };
}

it("a protected name is mounted over, too, if another server removes its placeholder there at this moment", () => {
  const { tree, workspace } = treeWith(new BesideAnotherServer());
  const mounted = tree.flags.filter((flag) => path.dirname(flag) === workspace).map((flag) => path.basename(flag));
  expect(mounted.sort()).toEqual([".agents", ".codex", ".git"]);
});

class Failing extends Placeholders {
  readonly #code: string;

  constructor(code: string) {
    super();
    this.#code = code;
  }

  override hold(): never {
    throw Object.assign(new Error(`${this.#code}: it failed`), { code: this.#code });
  }
}

it("only a folder that is gone is looked for again; any other failure is told with its cause", () => {
  expect(() => treeWith(new Failing("ENOENT"))).toThrow(PlaceMoved);
  expect(() => treeWith(new Failing("ENOSPC"))).toThrow(new ProgramNotStarted("the sandbox", "ENOSPC: it failed"));
  const caller = (tmp: string) => ({ caller: { hidden: [{ folder: "/tmp" }], shown: [], tmp: () => tmp } });
  expect(() => treeWith(new Placeholders(), caller("/nowhere"))).toThrow(PlaceMoved);
  expect(() => treeWith(new Placeholders(), caller(`/${"x".repeat(300)}`))).toThrow(/the sandbox: ENAMETOOLONG/);
});
