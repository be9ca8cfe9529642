import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { bundle } from "../sandbox/bundle.js";

/** What can be wrong with a Codex. */
export interface Faults {
  readonly version?: string;
  readonly userAgent?: string;
  /** A method that it does not have. */
  readonly lacks?: string;
  readonly atStart?: "hang" | "exit" | "garbage";
  readonly refusesCapabilities?: boolean;
  /** So many requests are refused because it has too much to do. */
  readonly overloads?: number;
  readonly dies?: "before the turn" | "in the turn";
  /** So many notifications of 1,000 characters, at once. */
  readonly flood?: number;
  readonly changedShapes?: boolean;
  readonly ignoresInterrupts?: boolean;
  /** Does not end commands when it is told to. */
  readonly keepsCommands?: boolean;
  /** The sandbox it gives, whatever was asked for. */
  readonly sandbox?: string;
  /** What it says of the user's configuration; otherwise it does not know `config/read`. */
  readonly config?: Readonly<Record<string, unknown>>;
  /** In each turn it asks for these permissions, and then says what it was given. */
  readonly wants?: Readonly<Record<string, unknown>>;
}

export interface AppServerDouble extends Disposable {
  /** A file to start in place of `codex`. */
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
