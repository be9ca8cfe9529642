import { isUtf8 } from "node:buffer";

const NOT_ASCII = /[\x80-\xff]/g;
const ESCAPED = /[\udc80-\udcff]/u;
const EACH_ESCAPED = new RegExp(ESCAPED, "gu");

/**
 * The text for a file's name. In a name that is not UTF-8, each byte beyond ASCII becomes an unpaired surrogate, so that `pathOf` finds the
 * file again and different names stay different.
 */
export function nameOf(bytes: Buffer): string {
  if (isUtf8(bytes)) return bytes.toString();
  return bytes.toString("latin1").replace(NOT_ASCII, (byte) => String.fromCharCode(0xdc00 | byte.charCodeAt(0)));
}

/** The path for the operating system. */
export function pathOf(name: string): string | Buffer {
  if (!ESCAPED.test(name)) return name;
  return Buffer.concat([...name].map((part) => (ESCAPED.test(part) ? Buffer.of(part.charCodeAt(0) & 0xff) : Buffer.from(part))));
}

/** The name for a reader: what cannot be shown becomes a replacement character. */
export function shownName(name: string): string {
  return name.replace(EACH_ESCAPED, "\ufffd");
}
