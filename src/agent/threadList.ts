import { createCipheriv, createDecipheriv, randomBytes } from "node:crypto";
import { InvalidCursor } from "../threads/errors.js";
import type { ThreadCatalog, ThreadPage, ThreadQuery, ThreadSummary } from "../threads/store.js";
import type { ThreadAccess } from "./access.js";
import type { Caller } from "./caller.js";
import { InvalidArguments } from "./errors.js";

/** The limits of what is read from the list of all threads to fill one page of a caller. */
const MOST_READ = { pages: 20, threads: 500 };
/** No title is longer. The cost of a search grows with the length of its text. */
const LONGEST_SEARCH = 500;
/** The minimum size of the second and later pages that are read, even if the caller's page needs fewer threads. */
const LEAST_READ = 100;

/** The caller that requests a page, and its abort signal. */
export interface PageReader {
  /** Undefined: the server's own user, who sees all threads. */
  readonly caller: Caller | undefined;
  readonly signal: AbortSignal;
  /** Lists the threads that the caller may watch, not only those that it could use now. */
  readonly watches?: boolean;
}

/** The stored threads that a caller may use. */
export class ThreadList {
  readonly #access: ThreadAccess;
  readonly #cursors: () => Promise<SealedCursors>;

  /** Processes with the same key accept each other's cursors. */
  constructor(access: ThreadAccess, cursorKey: () => Promise<Buffer>) {
    this.#access = access;
    this.#cursors = async () => new SealedCursors(await cursorKey());
  }

  /** A caller's page may be short or empty and still have a next page. Throws `InvalidArguments` and `InvalidCursor`. */
  async page(catalog: Pick<ThreadCatalog, "list">, query: ThreadQuery, { caller, signal, watches }: PageReader): Promise<ThreadPage> {
    if ((query.search?.length ?? 0) > LONGEST_SEARCH) throw new InvalidArguments(`\`search\` has more than ${LONGEST_SEARCH} characters.`);
    if (!caller) return catalog.list(query);
    const threads: ThreadSummary[] = [];
    const cursors = await this.#cursors();
    const among = await this.#access.ownedOnly(caller, { watches: watches ?? false });
    let cursor = query.cursor === undefined ? undefined : cursors.open(query.cursor, caller);
    let read = 0;
    for (let page = 0; page < MOST_READ.pages && read < MOST_READ.threads && !signal.aborted; page++) {
      const wanted = query.limit - threads.length;
      const from = { ...query, among, cursor };
      let found = await catalog.list({ ...from, limit: page === 0 ? wanted : Math.max(wanted, LEAST_READ) });
      read += found.threads.length;
      const own = await this.#ownIn(found.threads, { caller, watches });
      const last = own[wanted];
      // The caller's page ends inside the page that was read. Only the end of a page has a cursor, so a shorter page is read.
      if (last) found = await catalog.list({ ...from, limit: found.threads.indexOf(last) });
      const ids = new Set(own.map(({ id }) => id));
      threads.push(...found.threads.filter(({ id }) => ids.has(id)).slice(0, wanted));
      cursor = found.nextCursor;
      if (cursor === undefined) return { threads };
      if (threads.length >= query.limit) break;
    }
    return cursor === undefined ? { threads } : { threads, nextCursor: cursors.seal(cursor, caller) };
  }

  async #ownIn(threads: readonly ThreadSummary[], { caller, watches }: { readonly caller: Caller; readonly watches: boolean | undefined }) {
    const shown = await Promise.all(threads.map((thread) => this.#shows(thread, caller, watches)));
    return threads.filter((_, at) => shown[at]);
  }

  #shows({ id }: ThreadSummary, caller: Caller, watches: boolean | undefined): Promise<boolean> {
    return watches ? this.#access.isVisibleTo(id, caller) : this.#access.isOpenTo(id, caller);
  }
}

const CIPHER = "aes-256-gcm";
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/**
 * Encrypted cursors, valid only for their caller: the position where a page ends may be another caller's thread. They are valid wherever
 * the key is known.
 */
class SealedCursors {
  readonly #key: Buffer;

  constructor(key: Buffer) {
    this.#key = key;
  }

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
