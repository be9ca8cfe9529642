import { existsSync } from "node:fs";
import path from "node:path";
import { describe } from "../src/lib/errors.js";
import { NODE_TARGETS, type NodeTargetName } from "./nodeTargets.js";
import { codexProgram, opencodeProgram } from "./peers.js";
import { PROBED } from "./probe.js";

/** One server program under measurement. */
export interface Target {
  readonly name: TargetName;
  readonly speaks: "mcp" | "app-server";
  /** How it is started on stdio; absent if it can only listen. */
  readonly command?: Command;
  /** How it is started on a port; absent if it cannot listen. */
  readonly listenCommand?: Command;
  /** How it is started on a port to serve its HTTP API, with the scripted model as its provider; absent if it has no API. */
  readonly apiCommand?: Command;
  /** The server that it drives. */
  readonly drives?: Target;
  /** Cases to skip, because they show nothing new about it (a launcher adds nothing to a turn) or take minutes. */
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
  | "app-server-0.166"
  | "opencode"
  | NodeTargetName;

/** A placeholder for a free port, for servers that do not choose one themselves. */
export const FREE_PORT = "{free port}";

interface Candidate extends Omit<Target, "command" | "drives" | "apiCommand"> {
  readonly locateListen?: (signal: AbortSignal) => Promise<Command>;
  /** May install the program, which takes time, until the signal aborts. Absent if there is none for stdio. */
  readonly locate?: (signal: AbortSignal) => Promise<Command>;
  readonly locateApi?: (signal: AbortSignal) => Promise<Command>;
  readonly drives?: Candidate;
}

const OURS = "dist/main.js";

const APP_SERVER: Candidate = {
  name: "app-server-0.166",
  speaks: "app-server",
  skips: ["long"],
  // Codex would download plug-ins, which is refused here. It is fastest without them.
  locate: async (signal) => [await newestCodex(signal), "app-server", "-c", "features.plugins=false"],
};

const CANDIDATES: readonly Candidate[] = [
  {
    name: "ours",
    speaks: "mcp",
    skips: [],
    locate: async () => [process.execPath, built(OURS), "mcp-server", "--engine", "native"],
    listenCommand: [process.execPath, ...PROBED, path.resolve(OURS), "--engine", "scripted", "--port", "0"],
    locateApi: async () => [process.execPath, built(OURS), "--engine", "native", "--port", "0"],
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
  {
    name: "opencode",
    speaks: "mcp",
    skips: [],
    locateApi: async (signal) => [await opencodeProgram(signal), "serve", "--hostname", "127.0.0.1", "--port", FREE_PORT],
  },
  ...NODE_TARGETS.map(
    ({ name, program }): Candidate => ({
      name,
      speaks: "mcp",
      skips: [],
      locate: async (signal) => [...(await program(signal)), "mcp-server", "--engine", "native"],
      locateListen: async (signal) => [...(await program(signal)), "--engine", "scripted", "--port", "0"],
    }),
  ),
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

/** The servers that can run on this machine; `onMissing` gets the reason for each of the others. */
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

async function located({ locate, locateApi, locateListen, drives, ...candidate }: Candidate, signal: AbortSignal): Promise<Target> {
  return {
    ...candidate,
    ...(locate ? { command: await locate(signal) } : {}),
    ...(locateListen ? { listenCommand: await locateListen(signal) } : {}),
    ...(locateApi ? { apiCommand: await locateApi(signal) } : {}),
    ...(drives ? { drives: await located(drives, signal) } : {}),
  };
}

function built(file: string): string {
  if (!existsSync(file)) throw new Error(`${file} is missing: run "npm run build" first`);
  return path.resolve(file);
}
