import { randomBytes } from "node:crypto";
import { promises } from "node:fs";
import path from "node:path";

/**
 * Puts a small file into the place of an older one, with its folder, private to the user. It appears whole or not at all, and is on the
 * disk before it has its name: after a power failure, a file that is there tells the truth.
 */
export async function writeWholeFile(file: string, text: string): Promise<void> {
  const draft = `${file}.${randomBytes(6).toString("hex")}.new`;
  await promises.mkdir(path.dirname(file), { recursive: true, mode: 0o700 });
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
