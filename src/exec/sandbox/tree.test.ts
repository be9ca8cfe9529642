import { mkdirSync, mkdtempSync, realpathSync, rmdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { entryPath, type HeldPlaceholder, type Leaving, type NamedPlace, Placeholders } from "./placeholders.js";
import { openTree } from "./tree.js";

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

it("a protected name is mounted over, too, if another server removes its placeholder there at this moment", () => {
  const workspace = realpathSync(mkdtempSync(path.join(tmpdir(), "tree-")));
  onTestFinished(() => rmSync(workspace, { recursive: true }));
  const placeholders = new BesideAnotherServer();
  const tree = openTree(
    {
      policy: { type: "workspace-write", writable_roots: [], network_access: false, exclude_tmpdir_env_var: true, exclude_slash_tmp: true },
      workspace,
      hidden: [],
      ownPrograms: [],
      guarded: [],
      serverEnv: {},
      placeholders,
      tidiedLater: false,
      sharedMemoryBytes: 65_536,
    },
    { firstDescriptor: 3 },
  );
  onTestFinished(() => placeholders.close());
  onTestFinished(() => void tree.release());
  const mounted = tree.flags.filter((flag) => path.dirname(flag) === workspace).map((flag) => path.basename(flag));
  expect(mounted.sort()).toEqual([".agents", ".codex", ".git"]);
});
