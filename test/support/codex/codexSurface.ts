import { execFile } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import path from "node:path";
import { promisify } from "node:util";
import { createCodexEngine } from "../../../src/engines/codex/engine.js";
import { offeredTools } from "../../../src/engines/native/scripted/scriptedCalls.js";
import { newThreadId } from "../../../src/lib/ids.js";
import { playTurn } from "../threads/turns.js";
import type { PublishedCodex } from "./codexPeers.js";
import { type CodexStage, setCodexStage } from "./codexStage.js";

/** All names in the protocol of a Codex's app-server, sorted. */
export interface CodexSurface {
  /** Requests that it accepts. */
  readonly methods: readonly string[];
  readonly notifications: readonly string[];
  /** Requests that it sends. */
  readonly requests: readonly string[];
  readonly items: readonly string[];
  /** Keys of config.toml, and its features that are not removed. */
  readonly settings: readonly string[];
  /** Models, with the efforts of each. */
  readonly models: readonly string[];
  /** The tools of its default model; those inside `exec` begin with `exec:`. */
  readonly tools: readonly string[];
}

const SURFACE_PARTS = ["methods", "notifications", "requests", "items", "settings", "models", "tools"] as const;

/** Asks a published Codex for all names. Takes some seconds. */
export async function codexSurface({ program }: Pick<PublishedCodex, "program">): Promise<CodexSurface> {
  await using stage = await setCodexStage({ model: undefined });
  const types = await generatedTypes(program, stage);
  const engine = createCodexEngine({ codexBin: program, env: stage.env, cwd: stage.workspace, report: () => {} });
  try {
    const services = await engine.services?.();
    const models = (await services?.models(AbortSignal.timeout(30_000))) ?? [];
    const thread = await engine.openThread({ id: newThreadId(), settings: stage.settings });
    await playTurn(thread, "!say hello");
    return {
      ...types,
      settings: [...types.settings, ...(await features(program, stage))].sort(),
      models: models.map(({ model, reasoningEfforts }) => `${model} (${reasoningEfforts.join(", ")})`).sort(),
      tools: offeredIn(stage),
    };
  } finally {
    await engine.close?.();
  }
}

type GeneratedNames = Pick<CodexSurface, "methods" | "notifications" | "requests" | "items" | "settings">;

async function generatedTypes(program: string, { env }: CodexStage): Promise<GeneratedNames> {
  const folder = mkdtempSync("/var/tmp/codex-types-");
  try {
    await promisify(execFile)(program, ["app-server", "generate-ts", "--experimental", "--out", folder], { env, timeout: 50_000 });
    const text = (file: string) => readFileSync(path.join(folder, file), "utf8");
    const tagged = (file: string, tag: string) =>
      sorted([...text(file).matchAll(new RegExp(`"${tag}": "([^"]+)"`, "g"))].map(([, value = ""]) => value));
    return {
      methods: tagged("ClientRequest.ts", "method"),
      notifications: tagged("ServerNotification.ts", "method"),
      requests: tagged("ServerRequest.ts", "method"),
      items: tagged("v2/ThreadItem.ts", "type"),
      settings: sorted([...text("v2/Config.ts").matchAll(/\b([a-z][a-z0-9_]+): /g)].map(([, key = ""]) => key)),
    };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function features(program: string, { env }: CodexStage): Promise<string[]> {
  const { stdout } = await promisify(execFile)(program, ["features", "list"], { env, timeout: 30_000 });
  const rows = stdout.split("\n").map((line) => line.trim().split(/\s{2,}/));
  return rows.flatMap(([name = "", stage = ""]) => (name === "" || stage === "removed" ? [] : [`features.${name}`]));
}

function offeredIn({ model }: CodexStage): string[] {
  const body = model.requests.at(-1)?.body;
  if (!body) return [];
  const nested = [...JSON.stringify(body).matchAll(/const tools: \{ (\w+)\(/g)].map(([, name = ""]) => `exec:${name}`);
  const direct = offeredTools(body).map(({ namespace, name, type }) => (namespace ? `${namespace}.${name ?? type}` : (name ?? type)));
  return sorted([...direct, ...nested]);
}

function sorted(names: readonly string[]): string[] {
  return [...new Set(names)].sort();
}

/** Relative to the repository's root, where tests and scripts run. */
const FOLDER = path.resolve("test/codex/surfaces");

/** The surfaces that were recorded, by version, the oldest first. */
export function recordedSurfaces(): ReadonlyMap<string, CodexSurface> {
  const versions = readdirSync(FOLDER).map((name) => path.basename(name, ".json"));
  versions.sort((one, other) => one.localeCompare(other, undefined, { numeric: true }));
  return new Map(versions.map((version) => [version, JSON.parse(readFileSync(surfaceFile(version), "utf8")) as CodexSurface]));
}

export function surfaceFile(version: string): string {
  return path.join(FOLDER, `${version}.json`);
}

/** The names of one that are not in another, each with its part. */
export function namesBeyond(one: CodexSurface, other: CodexSurface): string[] {
  return SURFACE_PARTS.flatMap((part) => one[part].filter((name) => !other[part].includes(name)).map((name) => `${part}: ${name}`));
}
