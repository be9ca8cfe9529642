import { homedir } from "node:os";
import path from "node:path";
import { gitSettings } from "../../lib/files/gitConfig.js";
import { smallFileIfAny } from "../../lib/files/smallFile.js";
import { followLinks, isBelow, isInside, namesIn } from "../../platform/paths.js";
import { gitFoldersBehind } from "./policy.js";

/** Settings are short; a longer file is not read. */
const LARGEST_CONFIG = { maxBytes: 64 * 1024 };
/** Files of settings that name each other, with those of the repository itself. */
const MOST_CONFIGS = 12;
/** Git looks for fewer names than this in a folder of hooks. */
const MOST_HOOKS = 100;
/** Husky's folder of hooks: each of its files runs the file of that name in the folder around it. */
const HUSKYS = "_";

/**
 * What git runs, or reads settings from, outside of a work tree's git folder: the folder that `core.hooksPath` names, files that are
 * included in the settings, and the targets of links among the hooks. Real paths that exist below `root`.
 */
export function runByGit(workTree: string, root: string): string[] {
  const dotGit = path.join(workTree, ".git");
  const folders = [dotGit, ...gitFoldersBehind(dotGit)];
  const { hookFolders, included } = settingsOf(workTree, folders);
  const hooks = [...folders.map((folder) => path.join(folder, "hooks")), ...hookFolders].flatMap(withTargets);
  const huskys = hookFolders.filter((folder) => path.basename(folder) === HUSKYS).map((folder) => path.dirname(folder));
  const places = new Set([...hooks, ...[...huskys, ...included].flatMap(realOf)]);
  // A folder around the work tree is not only for git.
  return [...places].filter((place) => isBelow(place, root) && !isInside(workTree, place) && !folders.some((git) => isInside(place, git)));
}

/** A folder, and what links in it lead to. */
function withTargets(hooks: string): string[] {
  return realOf(hooks).flatMap((folder) => {
    const names = namesIn(folder).slice(0, MOST_HOOKS);
    return [folder, ...names.flatMap((name) => realOf(path.join(folder, name))).filter((file) => !isInside(file, folder))];
  });
}

/** Empty where nothing exists. */
function realOf(file: string): string[] {
  const found = followLinks(file);
  return found ? [found.real] : [];
}

function settingsOf(workTree: string, folders: readonly string[]): { readonly hookFolders: string[]; readonly included: string[] } {
  const own = folders.flatMap((folder) => [path.join(folder, "config"), path.join(folder, "config.worktree")]);
  const hookFolders: string[] = [];
  const included: string[] = [];
  const files = [...own, ...OF_THE_USER.map((name) => path.join(homedir(), name))];
  for (let at = 0; at < files.length && at < MOST_CONFIGS; at++) {
    const file = files[at] ?? "";
    for (const { section, key, value } of gitSettings(smallFileIfAny(file, LARGEST_CONFIG) ?? "")) {
      if (key === "path" && /^include(?:if\s|$)/i.test(section)) {
        const named = resolved(value, path.dirname(file));
        included.push(named);
        files.push(named);
      }
      if (key === "hookspath" && /^core$/i.test(section)) hookFolders.push(resolved(value, workTree));
    }
  }
  return { hookFolders, included };
}

/** A folder of hooks that the user names for all repositories may be relative to each. */
const OF_THE_USER = [".gitconfig", ".config/git/config"];

function resolved(named: string, folder: string): string {
  return path.resolve(folder, named.startsWith("~/") ? path.join(homedir(), named.slice(2)) : named);
}
