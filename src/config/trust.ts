import path from "node:path";
import { gitFoldersOf } from "../lib/files/gitFiles.js";
import { TRUST_LEVELS } from "./settings/safety.js";
import { type ConfigTree, choiceAt, tableAt } from "./tree.js";

export type TrustLevel = (typeof TRUST_LEVELS)[number];

/**
 * What `projects` says about a folder: about itself, or else about the git repository it belongs to. A repository inside another one is a project
 * of its own and earns its trust for itself; distrust of the outer one goes for it too, because whoever filled the outer one can make an inner one.
 *
 * Looked up on the spot, because settings are put together without waiting; nothing but git's pointers of at most 4 KiB is read.
 */
export function trustOf(folder: string, settings: ConfigTree): TrustLevel | undefined {
  const projects = tableAt(settings, "projects");
  if (Object.keys(projects).length === 0) return undefined;
  const own = trustEntry(projects, folder);
  if (own !== undefined) return own;
  const [nearest, ...outer] = repositoriesAround(folder).map((repository) => trustEntry(projects, repository));
  return nearest ?? (outer.includes("untrusted") ? "untrusted" : undefined);
}

function trustEntry(projects: ConfigTree, folder: string): TrustLevel | undefined {
  return choiceAt(tableAt(projects, folder), "trust_level", TRUST_LEVELS);
}

/** The folders of the main checkouts, innermost first: a linked worktree belongs to the repository it was made from, a submodule to itself. */
function repositoriesAround(folder: string): string[] {
  const found: string[] = [];
  for (let checkout = folder; ; checkout = path.dirname(checkout)) {
    const git = gitFoldersOf(checkout);
    if (git) found.push(git.own === git.common ? checkout : path.dirname(git.common));
    if (checkout === path.dirname(checkout)) return found;
  }
}
