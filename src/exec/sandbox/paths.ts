import path from "node:path";

/** Whether a path is the folder or lies below it. Both are absolute and normalised; nothing is looked up. */
export function isInside(file: string, folder: string): boolean {
  return file === folder || isBelow(file, folder);
}

export function isBelow(file: string, folder: string): boolean {
  return file !== folder && file.startsWith(folder.endsWith("/") ? folder : `${folder}/`);
}

/** The folders strictly between, outermost first. */
export function foldersBetween(folder: string, file: string): string[] {
  const steps = path.relative(folder, path.dirname(file)).split("/").filter(Boolean);
  return steps.map((_, at) => path.join(folder, ...steps.slice(0, at + 1)));
}
