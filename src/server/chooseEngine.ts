import path from "node:path";
import { NotOffered } from "../agent/errors.js";
import type { SettingsResolver } from "../config/resolve.js";
import { createNativeEngine, type NativeEngineOptions } from "../engines/native/engine.js";
import { HostEnvironment, type HostOptions } from "../engines/native/tools/hostEnvironment.js";
import { describe } from "../lib/errors.js";
import { lazily } from "../lib/promises.js";
import { userAgent } from "../mcp/wording/userAgent.js";
import { isThere, resolvedAsFarAsPossible } from "../platform/paths.js";
import type { Engine, EngineName } from "../threads/engine.js";
import type { ThreadCatalog } from "../threads/store.js";

export interface EngineOptions extends Omit<HostOptions, "ownPrograms"> {
  readonly engine: EngineName;
  readonly codexBin?: string;
  readonly settings: Pick<SettingsResolver, "forNewThread" | "stated">;
  /** Whether callers connect over a network, and whether there may be several. */
  readonly listens?: boolean;
  readonly severalCallers?: boolean;
  readonly report: (line: string) => void;
  /** Shared by everything that runs programs. */
  readonly host?: HostEnvironment;
}

/** Codex confines its commands itself, so its users need no report about our sandbox. */
export function openHost({ report, ...options }: EngineOptions): HostEnvironment {
  const reports = options.engine !== "codex";
  const host = new HostEnvironment({ ...options, ownPrograms: ownPrograms(options), ...(reports && { report }) });
  if (reports) void host.lookForSandbox({ thoroughly: options.listens === true }).catch((error: unknown) => report(describe(error)));
  return host;
}

/** Opens the chosen engine. No engine does anything before its first thread. */
export function openEngine(options: EngineOptions): Engine {
  switch (options.engine) {
    case "codex":
      return loadedWithFirstThread("codex", async () => {
        const { createCodexEngine } = await import("../engines/codex/engine.js");
        const { settings, serverCwd: cwd } = options;
        return createCodexEngine({
          ...options,
          cwd,
          ownPrograms: ownPrograms(options),
          defaults: () => ({ ...settings.forNewThread({}), stated: settings.stated({}) }),
        });
      });
    case "native":
      return createNativeEngine({
        ...options,
        ownPrograms: ownPrograms(options),
        userAgent: userAgent(options.env),
        services: serviceSources(options),
      });
    case "scripted":
      return loadedWithFirstThread("scripted", async () => {
        const { createScriptedEngine } = await import("../engines/native/scripted/scriptedEngine.js");
        return createScriptedEngine({ ...options, ownPrograms: ownPrograms(options), services: serviceSources(options) });
      });
  }
}

/** What runs outside the sandbox because of us: our own files, which are loaded when first needed, Node, and what the user named. */
function ownPrograms({ serverCwd, sandboxBin, codexBin }: Pick<EngineOptions, "serverCwd" | "sandboxBin" | "codexBin">): string[] {
  const named = [sandboxBin, codexBin].filter((file) => file !== undefined).map((file) => path.resolve(serverCwd, file));
  const entry = process.argv[1] === undefined ? [] : [ownFolder(resolvedAsFarAsPossible(process.argv[1]))];
  return [...entry, ...[process.execPath, ...named].map(resolvedAsFarAsPossible)].filter(isThere);
}

/** The whole folder of an installed package; in a development checkout, only the built files. */
function ownFolder(entry: string): string {
  const folder = path.dirname(entry);
  const packageFolder = path.dirname(folder);
  return path.basename(path.dirname(packageFolder)) === "node_modules" ? packageFolder : folder;
}

/** Loads the code of an engine on first use, so that the other engines start faster. */
function loadedWithFirstThread(name: EngineName, load: () => Promise<Engine>): Engine {
  const engine = lazily(load);
  return {
    name,
    openThread: async (opening) => (await engine.get()).openThread(opening),
    services: async () => {
      const loaded = await engine.get();
      if (!loaded.services) throw new NotOffered(name);
      return loaded.services();
    },
    ...(name === "codex" && { catalog: async () => catalogOf(await engine.get()) }),
    close: async () => (await engine.ifLoaded())?.close?.(),
  };
}

async function catalogOf(engine: Engine): Promise<ThreadCatalog> {
  if (!engine.catalog) throw new NotOffered(engine.name);
  return engine.catalog();
}

/** The sources for an engine that does not read the configuration itself. */
function serviceSources({ settings }: EngineOptions): NonNullable<NativeEngineOptions["services"]> {
  return { settingsIn: (cwd) => settings.forNewThread(cwd === undefined ? {} : { cwd }) };
}
