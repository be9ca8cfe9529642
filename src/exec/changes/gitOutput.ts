import { isUtf8 } from "node:buffer";
import { nameOf } from "./fileNames.js";

/** A path in the work tree that differs from the commit. */
export interface DirtyPath {
  /** The committed object's id; undefined when the commit does not have the path. */
  readonly committed: string | undefined;
}

/** Records end with NUL; the path is what follows the eighth space (`1`), the tenth (`u`) or the first (`?`). */
export function readStatus(output: Buffer): Map<string, DirtyPath> {
  const dirty = new Map<string, DirtyPath>();
  for (const record of recordsOf(output)) {
    const fields = { "1": 8, u: 10, "?": 1 }[record[0] ?? ""];
    if (fields === undefined) continue;
    const words = record.split(" ");
    // In a conflict, the id of the committed version is in another field; conflicts are reported without line counts.
    const id = record[0] === "1" ? words[6] : undefined;
    const isCommitted = record[0] === "u" || (id !== undefined && !/^0+$/.test(id));
    dirty.set(words.slice(fields).join(" "), { committed: isCommitted ? (id ?? "") : undefined });
  }
  return dirty;
}

function recordsOf(output: Buffer): readonly string[] {
  if (isUtf8(output)) return output.toString().split("\0");
  const records = output.toString("latin1").split("\0");
  return records.map((record) => nameOf(Buffer.from(record, "latin1")));
}

/** Each object is `ID TYPE SIZE`, a line break, its bytes and another line break. */
export function readObjects(output: Buffer): Map<string, string> {
  const texts = new Map<string, string>();
  for (let at = 0; at < output.length; ) {
    const end = output.indexOf("\n", at);
    const [id, type, size] = output.toString("latin1", at, end < 0 ? output.length : end).split(" ");
    const length = type === "blob" ? Number(size) : Number.NaN;
    if (end < 0 || id === undefined || (Number.isNaN(length) && type !== "missing")) break;
    const bytes = output.subarray(end + 1, end + 1 + (type === "missing" ? 0 : length));
    if (type === "blob" && !bytes.includes(0)) texts.set(id, bytes.toString());
    at = type === "missing" ? end + 1 : end + 1 + length + 1;
  }
  return texts;
}
