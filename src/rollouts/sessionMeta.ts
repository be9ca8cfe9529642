import type { NewThread } from "../threads/store.js";
import { readGitCheckout } from "./git.js";
import { rolloutLine } from "./lines.js";

export interface Origin {
  /** The version of this server. */
  readonly version: string;
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** The first line of a rollout: which thread it is and where it began. */
export function sessionMetaLine({ id, settings }: NewThread, origin: Origin, startedAt: Date): string {
  const { cwd, provider, baseInstructions } = settings;
  const meta = {
    id,
    timestamp: startedAt.toISOString(),
    cwd,
    originator: origin.env["CODEX_INTERNAL_ORIGINATOR_OVERRIDE"] || "codex_cli_rs",
    cli_version: origin.version,
    source: "mcp",
    model_provider: provider.id,
    base_instructions: baseInstructions === undefined ? null : { text: baseInstructions },
    git: readGitCheckout(cwd),
  };
  return rolloutLine("session_meta", meta, new Date());
}
