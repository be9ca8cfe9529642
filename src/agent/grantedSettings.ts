import { accessSync, constants, type Stats, statSync } from "node:fs";
import path from "node:path";
import type { SettingsResolver } from "../config/resolve.js";
import { AppError, describe, errorCode } from "../lib/errors.js";
import { withoutUndefined } from "../lib/fields.js";
import { LONGEST_PATH } from "../lib/files/kernelFiles.js";
import { resolveLinks } from "../platform/paths.js";
import type { ThreadSettings } from "../threads/settings.js";
import type { StoredSettings } from "../threads/store.js";
import { InvalidArguments } from "./errors.js";
import { type OwnAddress, withoutOwnEntries } from "./ownEntries.js";

/** The settings that a caller may request for a new thread. */
export interface AskedSettings {
  readonly model?: string | undefined;
  readonly profile?: string | undefined;
  readonly cwd?: string | undefined;
  readonly approvalPolicy?: ThreadSettings["approvalPolicy"] | undefined;
  readonly sandbox?: ThreadSettings["sandboxPolicy"]["type"] | undefined;
  readonly config?: Readonly<Record<string, unknown>> | undefined;
  readonly baseInstructions?: string | undefined;
  readonly developerInstructions?: string | undefined;
  readonly compactPrompt?: string | undefined;
  /** Accepts a missing folder and the unnamed default folder, for callers that expect the behaviour of Codex 0.92.0. */
  readonly takesAnyFolder?: boolean | undefined;
  /** The thread is read-only, whatever else is requested or configured. */
  readonly looksOnly?: true | undefined;
  /** If the requested model is not available, another one may replace it; the turn reports this. */
  readonly takesAnyModel?: boolean | undefined;
  /** The model may search the web. */
  readonly searchesWeb?: true | undefined;
}

const LONGEST_NAME = 256;
const LONGEST_TEXT = 1024 * 1024;
const LONGEST = {
  model: LONGEST_NAME,
  profile: LONGEST_NAME,
  cwd: LONGEST_PATH,
  baseInstructions: LONGEST_TEXT,
  developerInstructions: LONGEST_TEXT,
  compactPrompt: LONGEST_TEXT,
};

/** Limits the texts that threads, records and the feed keep. Throws `InvalidArguments`. */
export function checkLengths(asked: Partial<Record<keyof typeof LONGEST, string | undefined>>): void {
  for (const [name, most] of Object.entries(LONGEST) as [keyof typeof LONGEST, number][])
    if ((asked[name]?.length ?? 0) > most) throw new InvalidArguments(`\`${name}\` has more than ${most} characters.`);
}

/** Settings that replace a thread's own from one of its turns on. */
export interface SettingsChange extends Pick<ThreadSettings, "approvalPolicy" | "sandboxPolicy" | "model"> {
  readonly cwd: string;
  /** Absent: the model's default. */
  readonly effort?: ThreadSettings["reasoningEffort"];
  readonly summary: ThreadSettings["reasoningSummary"];
}

/** Whether the caller requests settings that can change on an existing thread. */
export function namesAnything({ model, cwd, sandbox, approvalPolicy, config, looksOnly }: AskedSettings): boolean {
  return [model, cwd, sandbox, approvalPolicy, config, looksOnly].some((value) => value !== undefined);
}

/**
 * The settings of an existing thread with the caller's changes. `asked` holds the settings that a new thread would get for the same
 * request, with all checks applied.
 */
export function changedSettings(
  current: ThreadSettings,
  { asked, changes }: { readonly asked: ThreadSettings; readonly changes: AskedSettings },
): ThreadSettings {
  const { model, cwd, sandbox, approvalPolicy, config, looksOnly } = changes;
  return {
    ...current,
    ...(cwd !== undefined && { cwd: asked.cwd }),
    ...(sandbox !== undefined && { sandboxPolicy: asked.sandboxPolicy }),
    ...(approvalPolicy !== undefined && { approvalPolicy: asked.approvalPolicy }),
    ...(model !== undefined && modelOf(asked)),
    ...(config !== undefined && configuredIn(current, { asked, config })),
    ...(looksOnly && { looksOnly, sandboxPolicy: asked.sandboxPolicy, approvalPolicy: asked.approvalPolicy }),
  };
}

function modelOf({ model, modelIsOurs, modelIsDefault, modelIsReplaceable }: ThreadSettings): Partial<ThreadSettings> {
  return withoutUndefined({ model, modelIsOurs, modelIsDefault, modelIsReplaceable });
}

/** From a call's `config`, an existing thread takes only the reasoning settings and the environment of its commands. */
function configuredIn(
  current: ThreadSettings,
  { asked, config }: { readonly asked: ThreadSettings; readonly config: Readonly<Record<string, unknown>> },
): Partial<ThreadSettings> {
  const names = (key: string) => Object.keys(config).some((name) => name === key || name.startsWith(`${key}.`));
  return withoutUndefined({
    ...(names("model_reasoning_effort") && { reasoningEffort: asked.reasoningEffort }),
    ...(names("shell_environment_policy") && { shellEnvironment: asked.shellEnvironment }),
    ...(asked.stated && { stated: { ...current.stated, ...asked.stated } }),
  });
}

export interface GrantedSettingsParts {
  readonly resolver: Pick<SettingsResolver, "forNewThread" | "forStoredThread" | "stated">;
  readonly engineName: string;
  readonly env: NodeJS.ProcessEnv;
  readonly serverCwd: string;
  /** The address on which the server listens, if any. */
  readonly ownAddress?: (() => OwnAddress | undefined) | undefined;
  readonly report: (line: string) => void;
}

/** The settings of threads as this server grants them: the resolved settings without MCP servers that lead back to this server. */
export class GrantedSettings {
  readonly #parts: GrantedSettingsParts;
  readonly #reported = new Set<string>();

  constructor(parts: GrantedSettingsParts) {
    this.#parts = parts;
  }

  /** Throws `AppError` with the reason if the settings are invalid. As with the resolver, often the same object for the same call. */
  forNewThread(asked: AskedSettings): ThreadSettings {
    const { resolver, report } = this.#parts;
    const resolved = resolver.forNewThread(asked);
    const stated = this.#stated(asked);
    const granted = this.#granted(stated ? { ...resolved, ...stated } : resolved);
    for (const notice of granted.notices) report(notice);
    return granted;
  }

  /** The settings of a thread with some of them replaced. */
  withChanges(settings: ThreadSettings, { cwd, effort, summary, ...named }: SettingsChange): ThreadSettings {
    const { modelIsOurs: _, reasoningEffort: __, ...kept } = settings;
    const changed = {
      ...kept,
      ...named,
      cwd: path.resolve(this.#parts.serverCwd, cwd),
      reasoningSummary: summary,
      ...(effort !== undefined && { reasoningEffort: effort }),
      ...(settings.modelIsDefault !== undefined && { modelIsDefault: false }),
    };
    return this.#granted(changed);
  }

  withSandbox(settings: ThreadSettings, sandboxPolicy: ThreadSettings["sandboxPolicy"]): ThreadSettings {
    return this.#granted({ ...settings, sandboxPolicy });
  }

  forStoredThread(stored: StoredSettings): ThreadSettings {
    return this.#granted({ ...this.#parts.resolver.forStoredThread(stored), ...this.#stated({}) });
  }

  #granted(resolved: ThreadSettings): ThreadSettings {
    if (resolved.mcpServers.length === 0) return resolved;
    const { env, serverCwd: cwd, ownAddress } = this.#parts;
    const granted = withoutOwnEntries(resolved, { env, cwd, address: ownAddress?.() });
    for (const { warning } of granted.leftOutServers ?? []) this.#reportOnce(warning);
    return granted;
  }

  /** For an engine that reads config.toml itself and chooses its own default model. */
  #stated(asked: AskedSettings): Pick<ThreadSettings, "stated" | "modelIsDefault"> | undefined {
    if (this.#parts.engineName !== "codex") return undefined;
    const stated = this.#parts.resolver.stated(asked);
    return { stated, modelIsDefault: stated["model"] === undefined };
  }

  #reportOnce(line: string): void {
    if (this.#reported.has(line)) return;
    this.#reported.add(line);
    this.#parts.report(line);
  }
}

/** Nothing can run in the folder that the call names. */
class FolderUnusable extends AppError {
  readonly code = "cwd_unusable";
}

/** The call names no folder, and the default folder is unsuitable for a turn that may write. */
export class FolderNotNamed extends AppError {
  readonly code = "cwd_not_named";

  constructor(
    folder: string,
    /** The folders of the caller's most recent threads, newest first. */
    readonly recent: readonly string[],
  ) {
    super(
      `No \`cwd\` was named, and this server was started in ${folder}: a turn that may write could change anything there. ` +
        "Name the folder to work in as `cwd`, or ask with `sandbox: read-only`.",
    );
  }
}

/** The working folder of calls that name none. */
interface DefaultFolder {
  readonly home: string;
  /** Set by the operator with `--cd`. */
  readonly isChosen: boolean;
}

/** Checks of working folders that apply to all callers. */
export class WorkingFolders {
  readonly #default: DefaultFolder;

  constructor(defaultFolder: DefaultFolder) {
    this.#default = defaultFolder;
  }

  /** Throws `FolderUnusable` unless it is an accessible folder. */
  checkUsable(folder: string): void {
    const stats = statsOf(folder);
    if (stats === undefined)
      throw new FolderUnusable(`The working directory ${folder} does not exist. Name an existing directory as \`cwd\`.`);
    if (!stats.isDirectory())
      throw new FolderUnusable(`The working directory ${folder} is not a directory but a file. Name its directory as \`cwd\`.`);
  }

  /** Clients often start servers in `/` or in the home folder by default. A call must name such a folder before a turn may write there. */
  mustBeNamed({ cwd, sandboxPolicy }: ThreadSettings): boolean {
    const { home, isChosen } = this.#default;
    if (isChosen || sandboxPolicy.type === "read-only") return false;
    const real = resolveLinks(cwd) ?? cwd;
    return real === path.parse(real).root || real === (resolveLinks(home) ?? home);
  }
}

function statsOf(folder: string): Stats | undefined {
  try {
    const stats = statSync(folder, { throwIfNoEntry: false });
    if (stats?.isDirectory()) accessSync(folder, constants.X_OK);
    return stats;
  } catch (error) {
    // A parent of the path is a file.
    if (errorCode(error) === "ENOTDIR") return undefined;
    throw new FolderUnusable(
      `The working directory ${folder} cannot be used (${errorCode(error) ?? describe(error)}). Name another one as \`cwd\`.`,
      { cause: error },
    );
  }
}
