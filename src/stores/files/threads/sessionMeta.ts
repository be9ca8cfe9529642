import type { Fields } from "../../../lib/fields.js";
import type { ThreadId } from "../../../lib/ids.js";
import type { NewThread } from "../../../threads/store.js";
import { readGitCheckout } from "./gitCheckout.js";
import { rolloutLine } from "./rolloutLines.js";

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
    ...writtenBy(origin),
    model_provider: provider.id,
    base_instructions: baseInstructions === undefined ? null : { text: baseInstructions },
    git: readGitCheckout(cwd),
  };
  return rolloutLine("session_meta", meta, new Date());
}

/** The first line of a fork. The one of the thread it comes from follows with all that was said there, as Codex does it. */
export function forkedMetaLine(source: Fields, { id, origin, startedAt }: { id: ThreadId; origin: Origin; startedAt: Date }): string {
  const { id: forkedFrom, cwd, model_provider, base_instructions, git } = source;
  const timestamp = startedAt.toISOString();
  const meta = { id, forked_from_id: forkedFrom, timestamp, cwd, ...writtenBy(origin), model_provider, base_instructions, git };
  return rolloutLine("session_meta", meta, startedAt);
}

function writtenBy({ version, env }: Origin): Fields {
  return { originator: env["CODEX_INTERNAL_ORIGINATOR_OVERRIDE"] || "codex_cli_rs", cli_version: version, source: "mcp" };
}
