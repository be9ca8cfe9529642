import { readlinkSync } from "node:fs";
import path from "node:path";
import { errorCode } from "../../lib/errors.js";

/** As many links as the kernel follows. */
const LONGEST_CHAIN = 40;

/**
 * Where an absolute path leads when every link on the way is followed, those that lead to something yet to be made included:
 * what is missing is taken to be made as it is named. Undefined when links go in circles or something cannot be looked at.
 */
export function whereItLeads(file: string): string | undefined {
  let { root: real } = path.parse(file);
  const steps = stepsOf(file);
  let links = 0;
  for (let step = steps.shift(); step !== undefined; step = steps.shift()) {
    const next = path.join(real, step);
    const target = linkTarget(next);
    if (target === "unknown" || links > LONGEST_CHAIN) return undefined;
    if (target === "no link") {
      real = next;
      continue;
    }
    links++;
    steps.unshift(...stepsOf(target.path));
    if (path.isAbsolute(target.path)) ({ root: real } = path.parse(target.path));
  }
  return real;
}

/** Whether a path is the folder or lies below it. Both are real paths. */
export function isWithin(file: string, folder: string): boolean {
  return file === folder || file.startsWith(folder.endsWith(path.sep) ? folder : `${folder}${path.sep}`);
}

/** A `..` stays: behind a link it leads up from where the link leads. */
function stepsOf(file: string): string[] {
  return file
    .slice(path.parse(file).root.length)
    .split(path.sep)
    .filter((step) => step !== "" && step !== ".");
}

function linkTarget(file: string): { readonly path: string } | "no link" | "unknown" {
  try {
    return { path: readlinkSync(file) };
  } catch (error) {
    return ["EINVAL", "ENOENT", "ENOTDIR"].includes(errorCode(error) ?? "") ? "no link" : "unknown";
  }
}
