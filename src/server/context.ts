import type { ApprovalFallback } from "../approvals/fallback.js";
import { findCodexHome } from "../config/codexHome.js";
import { parseOverride } from "../config/layers.js";
import { createSettingsResolver } from "../config/resolve.js";
import type { ApprovalPolicy, SandboxMode } from "../exec/policies.js";
import type { ToolSetName } from "../mcp/tools/tool.js";

export const ENGINES = ["codex", "native", "scripted"] as const;

/** What the command line says about any server. */
export interface ServerOptions {
  readonly overrides: readonly string[];
  readonly model?: string;
  readonly profile?: string;
  readonly cwd?: string;
  readonly sandbox?: SandboxMode;
  readonly approvalPolicy?: ApprovalPolicy;
  readonly strictConfig: boolean;
  readonly engine: (typeof ENGINES)[number];
  /** Nobody named the engine. */
  readonly engineIsAuto: boolean;
  /** Why it is another one than somebody may expect. */
  readonly engineNotice?: string;
  readonly tools: readonly ToolSetName[];
  readonly eofGraceMs: number;
  readonly approvalFallback: ApprovalFallback;
  /** How long calls wait for their turns that do not say it themselves; `Infinity` is as long as it takes. */
  readonly waitMs?: number;
  readonly sandboxBin?: string;
  readonly codexBin?: string;
}

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
    asRecorded: options.tools.includes("codex-original"),
    env,
    serverCwd,
    listening,
  });
  return { codexHome, settings };
}
