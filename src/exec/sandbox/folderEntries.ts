import { type Dir, type Dirent, opendirSync } from "node:fs";
import path from "node:path";
import { hasRawBytes, pathBytes, textOfName, UNREADABLE } from "../../lib/files/rawNames.js";
import { refusalOf } from "./closedFolders.js";

export type FolderEntry = Pick<Dirent, "name" | "isDirectory" | "isFile" | "isSymbolicLink">;

/** Undefined entries count for the bounds of a search alone. */
export function listing(folder: string): {
  readonly entries: Iterable<FolderEntry | undefined>;
  readonly refusal?: ReturnType<typeof refusalOf>;
} {
  try {
    // The dot needs the permission to enter the folder, without which its entries could be listed but not examined.
    const itself = pathBytes(`${folder}${path.sep}.`);
    return { entries: entriesOf(opendirSync(itself), () => opendirSync(itself, { encoding: "latin1" })) };
  } catch (error) {
    return { entries: [], refusal: refusalOf(error, folder) };
  }
}

/** All entries, and those once more whose names are not UTF-8, under the texts of their names. */
function* entriesOf(open: Dir, openForBytes: () => Dir): Generator<FolderEntry | undefined> {
  let hasRawNames = false;
  for (const entry of readFrom(open)) {
    if (entry.name.includes(UNREADABLE)) hasRawNames = true;
    yield entry;
  }
  if (hasRawNames) for (const entry of readFrom(openForBytes())) yield rawEntry(entry);
}

/** One by one: a folder may have hundreds of thousands of entries. Without waiting: each wait costs more than the reading of a usual folder. */
function* readFrom(open: Dir): Generator<Dirent> {
  try {
    for (let entry = open.readSync(); entry; entry = open.readSync()) yield entry;
  } catch {
    // It vanished, or the disk failed; the entries read so far are all that is available.
  } finally {
    open.closeSync();
  }
}

/** In its name each byte is a character. */
function rawEntry(entry: Dirent): FolderEntry | undefined {
  const name = textOfName(Buffer.from(entry.name, "latin1"));
  if (!hasRawBytes(name)) return undefined;
  return {
    name,
    isDirectory: () => entry.isDirectory(),
    isFile: () => entry.isFile(),
    isSymbolicLink: () => entry.isSymbolicLink(),
  };
}
