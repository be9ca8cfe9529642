import type { ServerOptions } from "../cli/command.js";
import { findCodexHome } from "../config/codexHome.js";
import { parseOverride } from "../config/overrides.js";
import { createSettingsResolver } from "../config/resolve.js";

/** What a command runs in. */
export interface ServerContext {
  readonly options: ServerOptions;
  readonly env: NodeJS.ProcessEnv;
  readonly serverCwd: string;
  readonly exitAtOnce: (code: number) => void;
}

export function resolveSettings(
  { options, env, serverCwd }: Pick<ServerContext, "options" | "env" | "serverCwd">,
  { listening = false }: { readonly listening?: boolean } = {},
) {
  const codexHome = findCodexHome(env);
  const { model, profile, cwd, sandbox, approvalPolicy, strictConfig } = options;
  const settings = createSettingsResolver({
    codexHome,
    cliOverrides: options.overrides.map(parseOverride),
    cliNamed: { model, profile, cwd, sandbox, approvalPolicy },
    strict: strictConfig,
    tolerant: options.engine === "codex",
    env,
    serverCwd,
    listening,
  });
  return { codexHome, settings };
}
