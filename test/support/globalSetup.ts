import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));

/** Builds the server once, so that every test of a run plays against what would be shipped. */
export async function setup(): Promise<void> {
  await promisify(execFile)(process.execPath, ["scripts/build.mjs"], { cwd: ROOT });
}
