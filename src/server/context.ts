import type { ApprovalFallback } from "../approvals/fallback.js";
import { findCodexHome } from "../config/codexHome.js";
import { parseOverride } from "../config/layers.js";
import { createSettingsResolver } from "../config/resolve.js";
import type { ApprovalPolicy, SandboxMode } from "../exec/policies.js";
import type { ToolSetName } from "../mcp/tools/tool.js";
import { OfferedModels } from "../stores/files/offeredModels.js";

export const ENGINES = ["codex", "native", "scripted"] as const;

/** The command-line options of any server. */
export interface ServerOptions {
  readonly overrides: readonly string[];
  readonly model?: string;
  readonly profile?: string;
  readonly cwd?: string;
  readonly sandbox?: SandboxMode;
  readonly approvalPolicy?: ApprovalPolicy;
  readonly strictConfig: boolean;
  readonly engine: (typeof ENGINES)[number];
  /** The engine was chosen automatically. */
  readonly engineIsAuto: boolean;
  /** Why the engine is not the one that the user may expect. */
  readonly engineNotice?: string;
  readonly tools: readonly ToolSetName[];
  readonly eofGraceMs: number;
  readonly approvalFallback: ApprovalFallback;
  /** How long calls wait for their turns by default; `Infinity` is unlimited. */
  readonly waitMs?: number;
  readonly sandboxBin?: string;
  readonly codexBin?: string;
}

/** The options and the process environment of a command. */
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

/** The models of new threads, by where they come from. */
export function offeredModels(
  { engine }: Pick<ServerOptions, "engine">,
  { codexHome, settings, report }: ReturnType<typeof resolveSettings> & { readonly report: (line: string) => void },
): OfferedModels {
  const source = () => {
    const { id, baseUrl, queryParams } = settings.forNewThread({}).provider;
    return [engine, id, baseUrl, queryParams];
  };
  return new OfferedModels({ codexHome, source, report });
}
