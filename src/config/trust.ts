import { readFileSync, type Stats, statSync } from "node:fs";
import path from "node:path";
import { TRUST_LEVELS } from "./settings/safety.js";
import { type ConfigTree, choiceAt, tableAt } from "./tree.js";

export type TrustLevel = (typeof TRUST_LEVELS)[number];

/** What `projects` says about a folder: about itself, or else about the git repository it belongs to. */
export function trustOf(folder: string, settings: ConfigTree): TrustLevel | undefined {
  const projects = tableAt(settings, "projects");
  if (Object.keys(projects).length === 0) return undefined;
  return trustEntry(projects, folder) ?? trustEntry(projects, repositoryRoot(folder));
}

function trustEntry(projects: ConfigTree, folder: string | undefined): TrustLevel | undefined {
  return folder === undefined ? undefined : choiceAt(tableAt(projects, folder), "trust_level", TRUST_LEVELS);
}

/** The folder of the main checkout: a linked worktree belongs to the repository it was made from. */
function repositoryRoot(folder: string): string | undefined {
  const dotGit = path.join(folder, ".git");
  const stat = statOrUndefined(dotGit);
  if (stat?.isDirectory()) return folder;
  if (stat?.isFile()) return mainCheckout(dotGit) ?? folder;
  const parent = path.dirname(folder);
  return parent === folder ? undefined : repositoryRoot(parent);
}

// In a worktree `.git` is a file that points into the main repository, where `commondir` points to the shared `.git` folder.
// Submodules have such a file too, but no `commondir`: they are projects of their own.
function mainCheckout(dotGitFile: string): string | undefined {
  const gitDir = /^gitdir: (.+)$/m.exec(readOrUndefined(dotGitFile) ?? "")?.[1];
  if (gitDir === undefined) return undefined;
  const linked = path.resolve(path.dirname(dotGitFile), gitDir.trim());
  const commonDir = readOrUndefined(path.join(linked, "commondir"));
  return commonDir === undefined ? undefined : path.dirname(path.resolve(linked, commonDir.trim()));
}

// A thread's folder need not exist, and what cannot be looked at earns no trust.
function statOrUndefined(file: string): Stats | undefined {
  try {
    return statSync(file, { throwIfNoEntry: false });
  } catch {
    return undefined;
  }
}

function readOrUndefined(file: string): string | undefined {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return undefined;
  }
}
