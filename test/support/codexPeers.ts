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
