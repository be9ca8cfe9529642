import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readdir, readFile, rename, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { cacheFolder } from "../../bench/peers.js";
import { errorCode } from "../../src/lib/errors.js";
import { npm } from "../support/processes/packedPackage.js";
import { runToEnd } from "../support/processes/runToEnd.js";

/** MCP's own tests of servers, and the Node that they need, which is newer than the server's minimum. */
const SUITE = "@modelcontextprotocol/conformance";
const SUITE_VERSION = "0.2.0-alpha.12";
const NODE_VERSION = "24.21.0";

const RUN_DEADLINE_MS = 90_000;
const ALREADY_THERE = ["ENOTEMPTY", "EEXIST"];

export interface Suite {
  readonly node: string;
  readonly program: string;
}

/** One check of a scenario. */
export interface Check {
  readonly id: string;
  readonly status: "SUCCESS" | "FAILURE" | "WARNING" | "SKIPPED" | "INFO";
  readonly errorMessage?: string;
}

/** Installs the suite. It is not a dependency of the project, because it has 240 MB. */
export async function installSuite(): Promise<Suite> {
  const { node, modules } = await installOnNewerNode("conformance", `${SUITE}@${SUITE_VERSION}`);
  return { node, program: path.join(modules, SUITE, "dist", "index.js") };
}

/** Installs a package, and others that it needs, with a Node that is new enough for it, from the cache or from the npm registry. */
export async function installOnNewerNode(
  name: string,
  wanted: `${string}@${string}`,
  ...needed: readonly `${string}@${string}`[]
): Promise<{ readonly node: string; readonly modules: string }> {
  const nodePackage = `node-${process.platform}-${process.arch}`;
  const version = wanted.slice(wanted.lastIndexOf("@") + 1);
  const folder = path.join(cacheFolder(), `${name}-${version}-node-${NODE_VERSION}`);
  const modules = path.join(folder, "node_modules");
  if (!existsSync(folder)) await installInto(folder, [wanted, ...needed, `${nodePackage}@${NODE_VERSION}`]);
  return { node: path.join(modules, nodePackage, "bin", "node"), modules };
}

/** Creates the folder completely or not at all. If several runs install it at the same time, the first one to finish provides it. */
async function installInto(folder: string, packages: readonly string[]): Promise<void> {
  await mkdir(path.dirname(folder), { recursive: true });
  const draft = await mkdtemp(`${folder}.`);
  try {
    // The suite declares a newer Node than npm runs on; the installation works anyway.
    const quietly = [
      "--ignore-scripts",
      "--engine-strict=false",
      "--no-audit",
      "--no-fund",
      "--fetch-retries=1",
      "--fetch-retry-mintimeout=1000",
    ];
    await npm(draft, ["install", "--prefix", draft, ...quietly, ...packages]);
    await rename(draft, folder);
  } catch (error) {
    await rm(draft, { recursive: true, force: true });
    if (!ALREADY_THERE.includes(errorCode(error) ?? "")) throw error;
  }
}

/** Scenario → its checks. */
export type Checks = ReadonlyMap<string, readonly Check[]>;

/** The scenarios that a server must pass to conform to a revision, as the suite lists them. */
export async function requiredScenarios({ program }: Suite, revision: string): Promise<readonly string[]> {
  const list = await readFile(path.join(path.dirname(program), "..", "requirements", `${revision}.yaml`), "utf8");
  const [, server = ""] = /^server:\n((?: {2}- .*\n)+)/m.exec(list) ?? [];
  const scenarios = server.match(/[a-z0-9-]+$/gm) ?? [];
  if (scenarios.length === 0) throw new Error(`the conformance suite requires nothing of a server for ${revision}`);
  return scenarios;
}

/** Plays every scenario of a revision against the server at this address. */
export async function runSuite(
  { node, program }: Suite,
  { url, revision }: { readonly url: string; readonly revision: string },
): Promise<Checks> {
  const results = await mkdtemp(path.join(tmpdir(), "conformance-"));
  try {
    const argv = [node, program, "server", "--url", url, "--requirements", revision, "-o", results] as const;
    const { stdout, stderr } = await runToEnd(argv, { timeoutMs: RUN_DEADLINE_MS });
    const checks = await readChecks(results);
    if (checks.size === 0) throw new Error(`the conformance suite left no results: ${stderr.trim() || stdout.trim()}`);
    return checks;
  } finally {
    await rm(results, { recursive: true, force: true });
  }
}

/** Scenario → its checks. The name of a folder is the scenario between a fixed word and a time. */
async function readChecks(results: string): Promise<Checks> {
  const checks = new Map<string, readonly Check[]>();
  for (const name of await readdir(results)) {
    const scenario = /^server-(.+)-\d{4}-\d{2}-\d{2}T[-\d]+Z$/.exec(name)?.[1];
    if (scenario !== undefined) checks.set(scenario, JSON.parse(await readFile(path.join(results, name, "checks.json"), "utf8")));
  }
  return checks;
}
