import { lstatSync, readlinkSync, realpathSync } from "node:fs";
import path from "node:path";
import { errorCode } from "../../lib/errors.js";

export interface Resolved {
  readonly real: string;
  /** Where the links are that led there, by real path. */
  readonly links: readonly string[];
}

/** As many as the kernel follows. */
const LONGEST_CHAIN = 40;

/** Follows a path, and remembers each link it went through: asking twice could give two answers. Undefined when it leads nowhere. */
export function followLinks(file: string): Resolved | undefined {
  const links: string[] = [];
  const steps = stepsOf(file);
  let real = "/";
  for (let step = steps.shift(); step !== undefined; step = steps.shift()) {
    const next = path.join(real, step);
    const target = linkTarget(next);
    if (target === "nothing there" || links.length > LONGEST_CHAIN) return undefined;
    if (target === "no link") {
      real = next;
      continue;
    }
    links.push(next);
    steps.unshift(...stepsOf(target.path));
    if (path.isAbsolute(target.path)) real = "/";
  }
  return { real, links };
}

function stepsOf(file: string): string[] {
  return file.split("/").filter((step) => step !== "" && step !== ".");
}

function linkTarget(file: string): { readonly path: string } | "no link" | "nothing there" {
  try {
    return { path: readlinkSync(file) };
  } catch (error) {
    return errorCode(error) === "EINVAL" ? "no link" : "nothing there";
  }
}

/** The real path of what exists, with the missing rest appended. */
export function resolvedAsFarAsPossible(file: string): string {
  try {
    return realpathSync.native(file);
  } catch {
    const parent = path.dirname(file);
    return parent === file ? file : path.join(resolvedAsFarAsPossible(parent), path.basename(file));
  }
}

/** A link counts as being there, wherever it leads. */
export function isThere(file: string): boolean {
  return lstatSync(file, { throwIfNoEntry: false }) !== undefined;
}
