import { withoutSecrets } from "../../exec/environment.js";
import { MARK_VARIABLE } from "../../exec/nesting/turnMark.js";
import type { OutsidePrograms } from "../../exec/outside/outsidePrograms.js";
import { GIT_VARIABLE, NO_REPOSITORY } from "./guard/withoutGit.js";

export interface AppServerNeeds {
  /** Absent where PATH is taken as it is. */
  readonly programs?: Pick<OutsidePrograms, "searchPath">;
  readonly withoutGit: boolean;
}

/** Ours, and of use to what Codex starts: where results go, and that it is started from inside a turn. */
const PASSED_ON = new Set(["CODEX_MCP_CALLBACK_URI", MARK_VARIABLE]);
const OURS = /^(CODEX_MCP_|OTEL_.*HEADERS$)/;

/**
 * The environment of `codex app-server`: what Codex needs, without secrets of ours. It starts programs by name outside its
 * sandbox, so its PATH has no folder that commands can write.
 */
export function appServerEnvironment(env: NodeJS.ProcessEnv, { programs, withoutGit }: AppServerNeeds): NodeJS.ProcessEnv {
  const kept = Object.entries(withoutSecrets(env, [])).filter(([name]) => PASSED_ON.has(name) || !OURS.test(name));
  return {
    ...Object.fromEntries(kept),
    ...(programs ? { PATH: programs.searchPath } : {}),
    ...(withoutGit ? { [GIT_VARIABLE]: NO_REPOSITORY } : {}),
  };
}
