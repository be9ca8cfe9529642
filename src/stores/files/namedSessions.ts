import { createHash } from "node:crypto";
import { promises } from "node:fs";
import path from "node:path";
import { SANDBOX_MODES } from "../../exec/policies.js";
import { errorCode } from "../../lib/errors.js";
import { type Fields, isFields, textOrNothing } from "../../lib/fields.js";
import { parseThreadId } from "../../lib/uuid.js";
import type { NamedSession, NamedSessionStore, SpokenTurn } from "../../threads/namedSession.js";
import { storageFailure } from "./failure.js";
import { writeWholeFile } from "./wholeFile.js";

/** More than a session with shortened texts takes. */
const LARGEST_FILE_BYTES = 128 * 1024;
/** Far more than the limit allows; further files are not read. */
const MOST_FILES = 20_000;
const OWN_FOLDER = "user";

/**
 * Named sessions as one small file each, in a folder per owner. Callers choose names and owners, so paths are made from their hashes: no
 * name leads out of its folder, none collides on a case-insensitive disk, and the file records its owner.
 */
export class NamedSessionFiles implements NamedSessionStore {
  readonly #folder: string;

  constructor(codexHome: string) {
    this.#folder = path.join(codexHome, "mcp-server", "sessions");
  }

  async find(owner: string | undefined, id: string): Promise<NamedSession | undefined> {
    const file = this.#fileOf(owner, id);
    try {
      const session = await sessionIn(file);
      return session?.id === id ? session : undefined;
    } catch (error) {
      throw storageFailure("read the session from", file, error);
    }
  }

  async keep(owner: string | undefined, session: NamedSession): Promise<void> {
    const file = this.#fileOf(owner, session.id);
    try {
      await writeWholeFile(file, `${JSON.stringify(session)}\n`);
    } catch (error) {
      throw storageFailure("keep the session in", file, error);
    }
  }

  async drop(owner: string | undefined, id: string): Promise<void> {
    await promises.rm(this.#fileOf(owner, id), { force: true });
  }

  async list(owner: string | undefined): Promise<readonly NamedSession[]> {
    const folder = this.#folderOf(owner);
    const names = (await namesIn(folder)).slice(0, MOST_FILES);
    const sessions: NamedSession[] = [];
    // One at a time: a listing must not use all file descriptors of the process.
    for (const name of names) {
      const session = await sessionIn(path.join(folder, name)).catch(() => undefined);
      if (session) sessions.push(session);
    }
    return sessions;
  }

  #folderOf(owner: string | undefined): string {
    return path.join(this.#folder, owner === undefined ? OWN_FOLDER : hashOf(owner));
  }

  #fileOf(owner: string | undefined, id: string): string {
    return path.join(this.#folderOf(owner), `${hashOf(id)}.json`);
  }
}

function hashOf(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}

async function namesIn(folder: string): Promise<string[]> {
  try {
    return (await promises.readdir(folder)).filter((name) => name.endsWith(".json"));
  } catch (error) {
    // The first session creates it.
    if (errorCode(error) === "ENOENT") return [];
    throw storageFailure("list the sessions in", folder, error);
  }
}

async function sessionIn(file: string): Promise<NamedSession | undefined> {
  try {
    await using handle = await promises.open(file, "r");
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(LARGEST_FILE_BYTES), 0, LARGEST_FILE_BYTES, 0);
    return sessionOf(buffer.toString("utf8", 0, bytesRead));
  } catch (error) {
    if (errorCode(error) === "ENOENT") return undefined;
    throw error;
  }
}

/** Undefined for an invalid file: a torn one, or one edited by hand. */
function sessionOf(text: string): NamedSession | undefined {
  const { id, createdAt, lastUsedAt, turnCount, threadId, cwd, sandbox, recent } = fieldsIn(text);
  if (typeof id !== "string" || !isCount(createdAt) || !isCount(lastUsedAt) || !isCount(turnCount)) return undefined;
  const thread = threadIdIn(threadId);
  const folder = textOrNothing(cwd);
  const mode = SANDBOX_MODES.find((known) => known === sandbox);
  return {
    id,
    createdAt,
    lastUsedAt,
    turnCount,
    ...(thread !== undefined && { threadId: thread }),
    ...(folder !== undefined && { cwd: folder }),
    ...(mode !== undefined && { sandbox: mode }),
    recent: Array.isArray(recent) ? recent.flatMap(spokenTurn) : [],
  };
}

function fieldsIn(text: string): Fields {
  try {
    const value: unknown = JSON.parse(text);
    return isFields(value) ? value : {};
  } catch {
    return {};
  }
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && Number(value) >= 0;
}

function threadIdIn(value: unknown): NamedSession["threadId"] {
  if (typeof value !== "string") return undefined;
  try {
    return parseThreadId(value);
  } catch {
    return undefined;
  }
}

function spokenTurn(value: unknown): SpokenTurn[] {
  const { prompt, response } = isFields(value) ? value : {};
  return typeof prompt === "string" && typeof response === "string" ? [{ prompt, response }] : [];
}
