import { spawn } from "node:child_process";
import { once } from "node:events";
import path from "node:path";

const SWAPPER = path.resolve(import.meta.dirname, "../../programs/swap-folder.mjs");

/** Repeatedly replaces the folder with a link to the outside, until disposed. */
export async function startSwapping(folder: string, outside: string): Promise<AsyncDisposable> {
  const child = spawn(process.execPath, [SWAPPER, folder, outside], { stdio: ["ignore", "pipe", "inherit"] });
  const gone = once(child, "exit");
  await once(child.stdout, "data");
  return {
    [Symbol.asyncDispose]: async () => {
      child.kill("SIGKILL");
      await gone;
    },
  };
}
