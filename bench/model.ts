import { once } from "node:events";
import { rmSync } from "node:fs";
import path from "node:path";
import { createInterface } from "node:readline";
import { build } from "esbuild";
import { isRecord } from "./lineRpc.js";
import type { Processes, ServerProcess } from "./processes.js";

const PROGRAM = "test/support/model/responsesServerMain.ts";
const START_DEADLINE_MS = 10_000;

export interface RunningModel extends AsyncDisposable {
  readonly url: string;
}

/** The scripted model in a separate process, so that its work does not slow down the client. */
export async function startModel(processes: Processes): Promise<RunningModel> {
  const bundle = path.resolve(`node_modules/.cache/codex-mcpd/bench-model.${process.pid}.mjs`);
  await build({
    entryPoints: [PROGRAM],
    outfile: bundle,
    bundle: true,
    platform: "node",
    format: "esm",
    target: "node20",
    packages: "external",
  });
  const server = processes.start([process.execPath, bundle], { cwd: process.cwd(), env: process.env });
  try {
    return { url: await announcedUrl(server), [Symbol.asyncDispose]: () => server.end() };
  } catch (error) {
    await server.end();
    throw error;
  } finally {
    rmSync(bundle, { force: true });
  }
}

async function announcedUrl({ child, ended }: ServerProcess): Promise<string> {
  const lines = createInterface(child.stdout);
  const first = once(lines, "line", { signal: AbortSignal.timeout(START_DEADLINE_MS) });
  const early = ended.then((how) => Promise.reject(new Error(`the scripted model ${how}`)));
  const [line]: unknown[] = await Promise.race([first, early]).finally(() => lines.close());
  const announced: unknown = JSON.parse(String(line));
  if (!isRecord(announced) || typeof announced.url !== "string") throw new Error(`the scripted model announced no url but ${String(line)}`);
  return announced.url;
}
