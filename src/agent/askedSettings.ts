import { withoutUndefined } from "../lib/fields.js";
import { LONGEST_PATH } from "../lib/files/kernelFiles.js";
import type { ThreadSettings } from "../threads/settings.js";
import { InvalidArguments } from "./errors.js";

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
