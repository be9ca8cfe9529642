import { randomBytes } from "node:crypto";
import { promises } from "node:fs";
import path from "node:path";
import { errorCode } from "../../lib/errors.js";
import { makeFolder } from "../../lib/files/makeFolder.js";

const BYTES = 32;

/**
 * A secret shared by all processes of a CODEX_HOME, even after a restart: the first process that needs it creates it. If the home is not
 * writable, each process has its own.
 */
export async function sharedSecret(codexHome: string, name: string): Promise<Buffer> {
  const file = path.join(codexHome, "mcp-server", name);
  try {
    return (await secretIn(file)) ?? (await makeSecret(file));
  } catch {
    return randomBytes(BYTES);
  }
}

/** Undefined for a file that is missing or invalid. */
async function secretIn(file: string): Promise<Buffer | undefined> {
  try {
    await using handle = await promises.open(file, "r");
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(BYTES + 1), 0, BYTES + 1, 0);
    return bytesRead === BYTES ? buffer.subarray(0, BYTES) : undefined;
  } catch (error) {
    if (errorCode(error) === "ENOENT") return undefined;
    throw error;
  }
}

/** The file gets its name when it is complete, and only one process succeeds: a second one uses the first one's. */
async function makeSecret(file: string): Promise<Buffer> {
  const draft = `${file}.${randomBytes(6).toString("hex")}.new`;
  await makeFolder(path.dirname(file));
  try {
    await promises.writeFile(draft, randomBytes(BYTES), { mode: 0o600, flag: "wx" });
    await promises.link(draft, file).catch(async (error: unknown) => {
      if (errorCode(error) !== "EEXIST") throw error;
      // A torn or foreign file: no process can have used it.
      if (!(await secretIn(file))) await promises.rename(draft, file);
    });
  } finally {
    await promises.rm(draft, { force: true });
  }
  return (await secretIn(file)) ?? randomBytes(BYTES);
}
