import { existsSync } from "node:fs";
import path from "node:path";
import { describe } from "../src/lib/errors.js";
import { codexProgram } from "./peers.js";
import { PROBED } from "./probe.js";

/** One server program under measurement. */
export interface Target {
  readonly name: TargetName;
  readonly speaks: "mcp" | "app-server";
  /** How it is started on stdio; absent where it only listens. */
  readonly command?: Command;
  /** How it is started on a port; absent where it cannot be. */
  readonly listenCommand?: Command;
  /** The server that it drives in its turn. */
  readonly drives?: Target;
  /** Left out of cases that say nothing new about it (a launcher adds nothing to a turn) or take minutes. */
  readonly skips: readonly string[];
}

type Command = readonly [file: string, ...args: string[]];

export type TargetName =
  | "ours"
  | "ours-codex"
  | "bare-http"
  | "sdk-1"
  | "sdk-2"
  | "floor"
  | "codex-0.92"
  | "codex-0.92-npm"
  | "codex-0.152"
  | "app-server-0.166";

interface Candidate extends Omit<Target, "command" | "drives"> {
  /** May take its time to install the program, until the signal. Absent where there is none for stdio. */
  readonly locate?: (signal: AbortSignal) => Promise<Command>;
  readonly drives?: Candidate;
}

const OURS = "dist/main.js";

const APP_SERVER: Candidate = {
  name: "app-server-0.166",
  speaks: "app-server",
  skips: ["long"],
  // Plugins come from outside, which is refused here: without them it is at its best.
  locate: async (signal) => [await newestCodex(signal), "app-server", "-c", "features.plugins=false"],
};

const CANDIDATES: readonly Candidate[] = [
  {
    name: "ours",
    speaks: "mcp",
    skips: [],
    locate: async () => [process.execPath, built(OURS), "mcp-server", "--engine", "native"],
    listenCommand: [process.execPath, ...PROBED, path.resolve(OURS), "--engine", "scripted", "--port", "0"],
  },
  {
    name: "ours-codex",
    speaks: "mcp",
    skips: ["burst", "growth", "long", "prompt"],
    locate: async (signal) => [process.execPath, built(OURS), "mcp-server", "--engine", "codex", "--codex-bin", await newestCodex(signal)],
    drives: APP_SERVER,
  },
  rival("bare-http", "bare"),
  rival("sdk-1", "sdk-1"),
  rival("sdk-2", "sdk-2"),
  {
    name: "floor",
    speaks: "mcp",
    skips: ["command"],
    locate: async () => [process.execPath, path.resolve("bench/floor.mjs")],
  },
  {
    name: "codex-0.92",
    speaks: "mcp",
    skips: ["long"],
    locate: async (signal) => [await codexProgram({ version: "0.92.0", start: "native", signal }), "mcp-server"],
  },
  {
    name: "codex-0.92-npm",
    speaks: "mcp",
    skips: ["turns", "command", "deltas", "burst", "growth", "long", "prompt"],
    locate: async (signal) => [await codexProgram({ version: "0.92.0", start: "launcher", signal }), "mcp-server"],
  },
  {
    name: "codex-0.152",
    speaks: "mcp",
    skips: ["long"],
    locate: async (signal) => [await codexProgram({ version: "0.152.1", start: "native", signal }), "mcp-server"],
  },
  APP_SERVER,
];

function newestCodex(signal: AbortSignal): Promise<string> {
  return codexProgram({ version: "0.166.0", start: "native", signal });
}

/** Servers for the cases over HTTP only. */
function rival(name: "bare-http" | "sdk-1" | "sdk-2", kind: string): Candidate {
  // They have no streams and no turns.
  const skips = ["streams", "sessions"];
  return { name, speaks: "mcp", skips, listenCommand: [process.execPath, path.resolve("bench/httpRival.mjs"), kind] };
}

export const TARGET_NAMES: readonly TargetName[] = CANDIDATES.map((candidate) => candidate.name);

/** The servers that can be had on this machine; for each of the others `onMissing` learns why. */
export async function findTargets(options: {
  readonly names: readonly string[];
  readonly signal: AbortSignal;
  onMissing(name: TargetName, reason: string): void;
}): Promise<Target[]> {
  const found: Target[] = [];
  for (const candidate of CANDIDATES.filter(({ name }) => options.names.includes(name))) {
    try {
      found.push(await located(candidate, options.signal));
    } catch (error) {
      options.onMissing(candidate.name, describe(error));
    }
  }
  return found;
}

async function located({ locate, drives, ...candidate }: Candidate, signal: AbortSignal): Promise<Target> {
  return {
    ...candidate,
    ...(locate ? { command: await locate(signal) } : {}),
    ...(drives ? { drives: await located(drives, signal) } : {}),
  };
}

function built(file: string): string {
  if (!existsSync(file)) throw new Error(`${file} is not there: run "npm run build" first`);
  return path.resolve(file);
}
