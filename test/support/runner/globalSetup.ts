import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { rememberPlaceholders, removeFoldersOfRun } from "./runFolders.js";

const ROOT = fileURLToPath(new URL("../../..", import.meta.url));

let removePlaceholders = () => {};

/** Builds the server and its console once, so that every test runs against the shipped program. */
export async function setup(): Promise<void> {
  removePlaceholders = rememberPlaceholders();
  await promisify(execFile)(process.execPath, ["scripts/build.mjs"], { cwd: ROOT });
  await promisify(execFile)(process.execPath, ["scripts/build-console.mjs"], { cwd: ROOT });
}

export function teardown(): void {
  removeFoldersOfRun();
  removePlaceholders();
}
