import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { codexProgram } from "../../bench/peers.js";
import { describe } from "../../src/lib/errors.js";

/** Installing takes a minute; somebody may have done it before. */
const INSTALL_MS = 180_000;

/** The native program of a published Codex, installed from the registry when it is not there yet; undefined, and said loudly, when it cannot be had. */
export async function publishedCodex(version: string): Promise<string | undefined> {
  try {
    return await codexProgram({ version, start: "native", signal: AbortSignal.timeout(INSTALL_MS) });
  } catch (error) {
    console.error(`\n*** SKIPPED: tests with the real Codex ${version}. It cannot be installed: ${describe(error)}\n`);
    return undefined;
  }
}

/** The versions that everything is tried with, the newest first; `npm run drift` says when there is a newer one. */
export const TRIED_VERSIONS = ["0.166.0", "0.160.1", "0.152.1"] as const;

export interface PublishedCodex {
  readonly version: string;
  readonly program: string;
}

/** Those of them that can be had. */
export async function publishedVersions(): Promise<readonly PublishedCodex[]> {
  const found = await Promise.all(TRIED_VERSIONS.map(async (version) => ({ version, program: await publishedCodex(version) })));
  return found.flatMap(({ version, program }) => (program === undefined ? [] : [{ version, program }]));
}

export interface CodexCase extends PublishedCodex {
  readonly family: string;
  /** Undefined leaves it to Codex. */
  readonly model: string | undefined;
}

/** Codex offers the models that it knows other tools than those that it does not. */
const FAMILIES = [
  { family: "its default model", model: undefined },
  { family: "a model it does not know", model: "mock-model" },
] as const;

/** Each of the versions with each kind of model. */
export async function publishedCases(): Promise<readonly CodexCase[]> {
  return (await publishedVersions()).flatMap((version) => FAMILIES.map((family) => ({ ...version, ...family })));
}

/** The newest version that anybody can install; undefined where the registry cannot be reached. */
export async function newestOnNpm(): Promise<string | undefined> {
  try {
    const { stdout } = await promisify(execFile)("npm", ["view", "@openai/codex", "version"], { timeout: 30_000 });
    return stdout.trim();
  } catch {
    return undefined;
  }
}
