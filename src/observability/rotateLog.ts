import { open, rename, stat, unlink } from "node:fs/promises";
import { errorCode } from "../lib/errors.js";

/** Setting files aside takes milliseconds; a lock this old belongs to nobody. */
const STALE_LOCK_MS = 10_000;

export interface Rotation {
  readonly keepOld: number;
  /** Asked again under the lock: somebody else may have done it meanwhile. */
  readonly isDue: (bytes: number) => boolean;
}

/** `x.log` becomes `x.log.1`, that becomes `x.log.2` and so on; the oldest goes. Of several processes one does it, the others go on writing. */
export async function rotateLog(file: string, { keepOld, isDue }: Rotation): Promise<void> {
  const lock = `${file}.lock`;
  if (!(await take(lock))) return;
  try {
    const { size } = (await ifThere(stat(file))) ?? { size: 0 };
    if (!isDue(size)) return;
    for (let age = keepOld - 1; age >= 1; age--) await ifThere(rename(`${file}.${age}`, `${file}.${age + 1}`));
    await rename(file, `${file}.1`);
  } finally {
    await ifThere(unlink(lock));
  }
}

async function take(lock: string): Promise<boolean> {
  if (await create(lock)) return true;
  if (!(await isStale(lock))) return false;
  await ifThere(unlink(lock));
  return create(lock);
}

async function create(lock: string): Promise<boolean> {
  try {
    await (await open(lock, "wx", 0o600)).close();
    return true;
  } catch (error) {
    if (errorCode(error) === "EEXIST") return false;
    throw error;
  }
}

/** A clock that was put back makes a lock of the future: that is no living process either. */
async function isStale(lock: string): Promise<boolean> {
  const held = await ifThere(stat(lock));
  return held !== undefined && Math.abs(Date.now() - held.mtimeMs) > STALE_LOCK_MS;
}

async function ifThere<T>(work: Promise<T>): Promise<T | undefined> {
  try {
    return await work;
  } catch (error) {
    if (errorCode(error) === "ENOENT") return undefined;
    throw error;
  }
}
