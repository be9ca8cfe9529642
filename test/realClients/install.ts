import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, rename, rm } from "node:fs/promises";
import path from "node:path";
import { promisify } from "node:util";
import { cacheFolder } from "../../bench/peers.js";
import { errorCode } from "../../src/lib/errors.js";
import { type RealClient, versionOf } from "./client.js";

/** Most clients need a newer Node than the server. */
const NODE_VERSION = "24.21.0";
const INSTALL_MS = 8 * 60_000;
const ALREADY_THERE = ["ENOTEMPTY", "EEXIST"];

/** The folder with a client's packages, from the cache or from the npm registry. */
export async function installClient(client: RealClient): Promise<string> {
  const folder = path.join(cacheFolder(), "clients", `${client.id}-${versionOf(client)}`);
  if (!existsSync(folder)) await installInto(folder, client.packages, { scripts: client.needsScripts === true });
  return folder;
}

/** The folder of the `node` that the clients run on. */
export async function installNode(): Promise<string> {
  const name = `node-${process.platform}-${process.arch}`;
  const folder = path.join(cacheFolder(), "clients", `node-${NODE_VERSION}`);
  if (!existsSync(folder)) await installInto(folder, [`${name}@${NODE_VERSION}`], { scripts: false });
  return path.join(folder, "node_modules", name, "bin");
}

/** Creates the folder completely or not at all. If several runs install it at the same time, the first one to finish provides it. */
async function installInto(folder: string, packages: readonly string[], { scripts }: { readonly scripts: boolean }): Promise<void> {
  await mkdir(path.dirname(folder), { recursive: true });
  const draft = await mkdtemp(`${folder}.`);
  const flags = ["--engine-strict=false", "--no-audit", "--no-fund", "--fetch-retries=1", "--fetch-retry-mintimeout=1000"];
  try {
    console.error(`installing ${packages.join(", ")}`);
    await promisify(execFile)("npm", ["install", "--prefix", draft, ...flags, ...(scripts ? [] : ["--ignore-scripts"]), ...packages], {
      cwd: draft,
      timeout: INSTALL_MS,
      maxBuffer: 64 * 1024 * 1024,
    });
    await rename(draft, folder);
  } catch (error) {
    await rm(draft, { recursive: true, force: true });
    if (!ALREADY_THERE.includes(errorCode(error) ?? "")) throw new NotInstalled(error);
  }
}

/** npm's output may have megabytes and names folders of this machine, so it is kept as the cause and not in the message. */
class NotInstalled extends Error {
  constructor(cause: unknown) {
    const isLate = cause instanceof Error && "killed" in cause && cause.killed === true;
    super(isLate ? `npm did not install it within ${INSTALL_MS / 60_000} minutes` : "npm could not install it", { cause });
  }
}
