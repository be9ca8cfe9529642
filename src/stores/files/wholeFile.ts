import { randomBytes } from "node:crypto";
import { promises } from "node:fs";
import path from "node:path";
import { makeFolder } from "../../lib/files/makeFolder.js";

/**
 * Replaces a small file atomically; creates its folder, private to the user. The file is on disk before it gets its name: after a power
 * failure, an existing file is complete.
 */
export async function writeWholeFile(file: string, text: string): Promise<void> {
  const draft = `${file}.${randomBytes(6).toString("hex")}.new`;
  await makeFolder(path.dirname(file));
  try {
    await writeAndSync(draft, text);
    await promises.rename(draft, file);
  } catch (error) {
    await promises.rm(draft, { force: true }).catch(() => undefined);
    throw error;
  }
}

async function writeAndSync(file: string, text: string): Promise<void> {
  await using handle = await promises.open(file, "wx", 0o600);
  await handle.writeFile(text);
  await handle.datasync();
}
