import path from "node:path";
import { gitSettings } from "../../lib/files/gitConfig.js";
import { smallFileIfAny } from "../../lib/files/smallFile.js";
import { firstNamesIn, followLinks, isBelow, isInside } from "../../platform/paths.js";
import { userHome } from "../../platform/userAccount.js";
import { gitFoldersBehind } from "./policy.js";

/** Settings are short; a longer file is not read. */
const LARGEST_CONFIG = { maxBytes: 64 * 1024 };
/** The most settings files that are read: those of the repository and of the user, and those that they include. */
const MOST_CONFIGS = 12;
/** The most files that the settings include. A search for guarded names blocks the server while it looks them up. */
const MOST_INCLUDED = 100;
/** The most files in a folder of hooks. Git knows fewer hooks than this. */
const MOST_HOOKS = 100;
/** The name of Husky's folder of hooks: each file in it runs the file of the same name in the parent folder. */
const HUSKY_HOOKS = "_";

/**
 * What git runs, or reads settings from, outside of a work tree's git folder: the folder that `core.hooksPath` names, files that are
 * included in the settings, and the targets of links among the hooks. Real paths that exist below `root`.
 */
export function runByGit(workTree: string, root: string): string[] {
  const dotGit = path.join(workTree, ".git");
  const folders = [dotGit, ...gitFoldersBehind(dotGit)];
  const { hookFolders, included } = settingsOf(workTree, folders);
  const hooks = [...folders.map((folder) => path.join(folder, "hooks")), ...hookFolders].flatMap(withTargets);
  const huskyScripts = hookFolders.filter((folder) => path.basename(folder) === HUSKY_HOOKS).map((folder) => path.dirname(folder));
  const places = new Set([...hooks, ...[...huskyScripts, ...included].flatMap(realOf)]);
  // A folder that contains the work tree is left out: it has more in it than what git runs.
  return [...places].filter((place) => isBelow(place, root) && !isInside(workTree, place) && !folders.some((git) => isInside(place, git)));
}

/** The real paths of a folder and of the targets of its links; empty if there is no such folder. */
function withTargets(hooks: string): string[] {
  return realOf(hooks).flatMap((folder) => {
    const names = firstNamesIn(folder, MOST_HOOKS);
    return [folder, ...names.flatMap((name) => realOf(path.join(folder, name))).filter((file) => !isInside(file, folder))];
  });
}

/** The real path of a file; empty if it does not exist. */
function realOf(file: string): string[] {
  const found = followLinks(file);
  return found ? [found.real] : [];
}

function settingsOf(workTree: string, folders: readonly string[]): { readonly hookFolders: string[]; readonly included: string[] } {
  const own = folders.flatMap((folder) => [path.join(folder, "config"), path.join(folder, "config.worktree")]);
  const hookFolders = new Set<string>();
  const included = new Set<string>();
  const files = [...own, ...settingsForAll(process.env)];
  for (let at = 0; at < files.length && at < MOST_CONFIGS; at++) {
    const file = files[at] ?? "";
    let hooksPath: string | undefined;
    for (const { section, key, value } of gitSettings(smallFileIfAny(file, LARGEST_CONFIG) ?? "")) {
      if (key === "path" && /^include(?:if\s|$)/i.test(section) && included.size < MOST_INCLUDED) {
        const named = resolved(value, path.dirname(file));
        if (!included.has(named)) files.push(named);
        included.add(named);
      }
      if (key === "hookspath" && /^core$/i.test(section)) hooksPath = value;
    }
    // Of several values in one file, git uses the last.
    if (hooksPath !== undefined) hookFolders.add(resolved(hooksPath, workTree));
  }
  return { hookFolders: [...hookFolders], included: [...included] };
}

/**
 * The settings of the user and of the system for all repositories. A relative path to a folder of hooks in them is relative to each work
 * tree.
 */
function settingsForAll(env: NodeJS.ProcessEnv): string[] {
  const home = userHome(env);
  const given = env["GIT_CONFIG_GLOBAL"];
  const ofUser = given
    ? [given]
    : [path.join(env["XDG_CONFIG_HOME"] || path.join(home, ".config"), "git/config"), path.join(home, ".gitconfig")];
  return [env["GIT_CONFIG_SYSTEM"] || "/etc/gitconfig", ...ofUser];
}

function resolved(named: string, folder: string): string {
  return path.resolve(folder, named.startsWith("~/") ? path.join(userHome(process.env), named.slice(2)) : named);
}
