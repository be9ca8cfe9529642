import { createCipheriv, createDecipheriv, randomBytes } from "node:crypto";
import { InvalidCursor } from "../threads/errors.js";
import type { Caller } from "./caller.js";

const CIPHER = "aes-256-gcm";
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/**
 * Cursors that only their caller can use and nobody can read: the place where a page ends may be a thread of somebody else. They are good
 * as long as this process runs.
 */
export class SealedCursors {
  readonly #key = randomBytes(32);

  seal(cursor: string, { principal }: Caller): string {
    const nonce = randomBytes(NONCE_BYTES);
    const cipher = createCipheriv(CIPHER, this.#key, nonce).setAAD(Buffer.from(principal));
    const sealed = Buffer.concat([cipher.update(cursor, "utf8"), cipher.final()]);
    return Buffer.concat([nonce, cipher.getAuthTag(), sealed]).toString("base64url");
  }

  /** Throws `InvalidCursor`. */
  open(sealed: string, { principal }: Caller): string {
    const bytes = Buffer.from(sealed, "base64url");
    const [nonce, tag, rest] = [
      bytes.subarray(0, NONCE_BYTES),
      bytes.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES),
      bytes.subarray(NONCE_BYTES + TAG_BYTES),
    ];
    if (tag.length < TAG_BYTES) throw new InvalidCursor();
    try {
      const decipher = createDecipheriv(CIPHER, this.#key, nonce).setAAD(Buffer.from(principal)).setAuthTag(tag);
      return Buffer.concat([decipher.update(rest), decipher.final()]).toString("utf8");
    } catch {
      throw new InvalidCursor();
    }
  }
}
