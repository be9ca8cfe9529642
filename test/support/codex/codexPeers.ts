import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { codexProgram } from "../../../bench/peers.js";
import { describe } from "../../../src/lib/errors.js";

/** Installing takes a minute, unless it was done before. */
const INSTALL_MS = 180_000;

/** The native program of a published Codex, installed from the registry on first use; undefined, with a warning, if it cannot be installed. */
export async function publishedCodex(version: string): Promise<string | undefined> {
  try {
    return await codexProgram({ version, start: "native", signal: AbortSignal.timeout(INSTALL_MS) });
  } catch (error) {
    console.error(`\n*** SKIPPED: tests with the real Codex ${version}. It cannot be installed: ${describe(error)}\n`);
    return undefined;
  }
}

/** The versions that all tests run with, the newest first; `npm run drift` reports a newer one. */
export const TRIED_VERSIONS = ["0.169.0", "0.166.0", "0.160.1", "0.152.1"] as const;

/** For tests that would take too long with each of them. */
export const NEWEST_TRIED = TRIED_VERSIONS[0];

export interface PublishedCodex {
  readonly version: string;
  readonly program: string;
}

/** Those of them that can be installed. */
export async function publishedVersions(versions: readonly string[] = TRIED_VERSIONS): Promise<readonly PublishedCodex[]> {
  const found = await Promise.all(versions.map(async (version) => ({ version, program: await publishedCodex(version) })));
  return found.flatMap(({ version, program }) => (program === undefined ? [] : [{ version, program }]));
}

export interface CodexCase extends PublishedCodex {
  readonly family: string;
  /** Undefined leaves it to Codex. */
  readonly model: string | undefined;
}

/** Codex offers different tools to models that it knows and to models that it does not know. */
const FAMILIES = [
  { family: "its default model", model: undefined },
  { family: "a model it does not know", model: "mock-model" },
] as const;

/** Each of the versions with each kind of model. */
export async function publishedCases(versions?: readonly string[]): Promise<readonly CodexCase[]> {
  return (await publishedVersions(versions)).flatMap((version) => FAMILIES.map((family) => ({ ...version, ...family })));
}

/** The newest published version; undefined if the registry cannot be reached. */
export async function newestOnNpm(): Promise<string | undefined> {
  try {
    const { stdout } = await promisify(execFile)("npm", ["view", "@openai/codex", "version"], { timeout: 30_000 });
    return stdout.trim();
  } catch {
    return undefined;
  }
}
