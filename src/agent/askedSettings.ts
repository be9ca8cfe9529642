import type { ThreadSettings } from "../threads/settings.js";

/** The settings that a caller may name for a new thread. */
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
  /** The folder may be missing, or one that nobody named: for callers that expect what Codex 0.92.0 did. */
  readonly takesAnyFolder?: boolean | undefined;
  /** The thread only looks, whatever else is asked for or configured. */
  readonly looksOnly?: true | undefined;
  /** Another model may take the place of one that is not offered, though the caller named it; the turn says so. */
  readonly takesAnyModel?: boolean | undefined;
  /** The model may look things up on the web. */
  readonly searchesWeb?: true | undefined;
}

/** What a thread is to run with from one of its turns on. */
export interface SettingsChange extends Pick<ThreadSettings, "approvalPolicy" | "sandboxPolicy" | "model"> {
  readonly cwd: string;
  /** Absent: what the model does by itself. */
  readonly effort?: ThreadSettings["reasoningEffort"];
  readonly summary: ThreadSettings["reasoningSummary"];
}

/** Whether a caller names settings that a thread could go on with. */
export function namesAnything({ model, cwd, sandbox, approvalPolicy, config, looksOnly }: AskedSettings): boolean {
  return [model, cwd, sandbox, approvalPolicy, config, looksOnly].some((value) => value !== undefined);
}

/**
 * What a thread runs with that goes on with other settings: its own, but for those that the caller names. `asked` are the settings that a new thread would
 * have for the same words, checked like those of any thread.
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
  return withoutAbsent({ model, modelIsOurs, modelIsDefault, modelIsReplaceable });
}

/** Of a call's configuration a thread that goes on takes how hard the model thinks and what commands find in their environment. */
function configuredIn(
  current: ThreadSettings,
  { asked, config }: { readonly asked: ThreadSettings; readonly config: Readonly<Record<string, unknown>> },
): Partial<ThreadSettings> {
  const names = (key: string) => Object.keys(config).some((name) => name === key || name.startsWith(`${key}.`));
  return withoutAbsent({
    ...(names("model_reasoning_effort") && { reasoningEffort: asked.reasoningEffort }),
    ...(names("shell_environment_policy") && { shellEnvironment: asked.shellEnvironment }),
    ...(asked.stated && { stated: { ...current.stated, ...asked.stated } }),
  });
}

function withoutAbsent(settings: Partial<ThreadSettings>): Partial<ThreadSettings> {
  return Object.fromEntries(Object.entries(settings).filter(([, value]) => value !== undefined));
}
