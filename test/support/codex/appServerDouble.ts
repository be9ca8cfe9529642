import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { bundle } from "../processes/bundledProgram.js";

/** Faults of the Codex double. */
export interface Faults {
  readonly version?: string;
  readonly userAgent?: string;
  /** A method that it does not implement. */
  readonly lacks?: string;
  readonly atStart?: "hang" | "exit" | "garbage";
  readonly refusesCapabilities?: boolean;
  /** The number of requests that it refuses as overloaded. */
  readonly overloads?: number;
  readonly dies?: "before the thread" | "before the turn" | "in the turn";
  /** The number of notifications of 1,000 characters that it sends without a pause. */
  readonly flood?: number;
  readonly changedShapes?: boolean;
  readonly ignoresInterrupts?: boolean;
  /** Ignores requests to end commands. */
  readonly keepsCommands?: boolean;
  /** The sandbox that it reports, whatever was requested. */
  readonly sandbox?: string;
  /** Its answer to `config/read`; without it, it does not implement that method. */
  readonly config?: Readonly<Record<string, unknown>>;
  /** In each turn it asks for these permissions, and then reports which were granted. */
  readonly wants?: Readonly<Record<string, unknown>>;
}

export interface AppServerDouble extends Disposable {
  /** A file to start instead of `codex`. */
  readonly program: string;
}

/** Builds the stand-in for Codex of test/programs/appServerDouble.ts. */
export async function buildAppServerDouble(): Promise<AppServerDouble> {
  const folder = mkdtempSync(path.join(tmpdir(), "app-server-double-"));
  const script = path.join(folder, "double.mjs");
  await bundle("appServerDouble.ts", script);
  const program = path.join(folder, "codex");
  writeFileSync(program, `#!/bin/sh\nexec "${process.execPath}" "${script}" "$@"\n`);
  chmodSync(program, 0o755);
  return { program, [Symbol.dispose]: () => rmSync(folder, { recursive: true, force: true }) };
}

export function withFaults(env: Readonly<Record<string, string>>, faults: Faults): Record<string, string> {
  return { ...env, APP_SERVER_FAULTS: JSON.stringify(faults) };
}
