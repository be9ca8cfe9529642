import { parseArgs } from "node:util";
import { type ApprovalFallback, FALLBACKS } from "../approvals/fallback.js";
import { AppError, errorCode } from "../lib/errors.js";
import { APPROVAL_POLICIES, type ApprovalPolicy, SANDBOX_MODES, type SandboxMode } from "../threads/model.js";
import { FLAGS, type FlagName, type FlagSpec, SUBCOMMANDS_NOT_YET } from "./options.js";

export const ENGINES = ["native", "scripted"] as const;
export const TOOL_SETS = ["codex", "codex-original"] as const;

export interface ServerOptions {
  readonly overrides: readonly string[];
  readonly model?: string;
  readonly profile?: string;
  readonly cwd?: string;
  readonly sandbox?: SandboxMode;
  readonly approvalPolicy?: ApprovalPolicy;
  readonly strictConfig: boolean;
  readonly engine: (typeof ENGINES)[number];
  readonly tools: (typeof TOOL_SETS)[number];
  readonly eofGraceMs: number;
  readonly approvalFallback: ApprovalFallback;
  readonly sandboxBin?: string;
}

export type CliCommand =
  | { readonly kind: "help" }
  | { readonly kind: "version" }
  | { readonly kind: "doctor"; readonly options: ServerOptions }
  | { readonly kind: "stdio"; readonly options: ServerOptions };

/** The command line was not understood, or asks for something this version does not have. */
export class UsageError extends AppError {
  readonly code = "usage";
}

export function parseCommand(argv: readonly string[], env: NodeJS.ProcessEnv): CliCommand {
  const { values, positionals } = parse(argv);
  if (values["help"]) return { kind: "help" };
  if (values["version"]) return { kind: "version" };
  refuseUnbuilt(values);
  const [subcommand = "mcp-server", surplus] = positionals;
  if (surplus !== undefined) throw new UsageError(`unexpected argument '${surplus}' found`);
  const notYet = SUBCOMMANDS_NOT_YET.get(subcommand);
  if (notYet !== undefined) throw new UsageError(notYet);
  if (subcommand !== "mcp-server" && subcommand !== "doctor") throw new UsageError(`unrecognized subcommand '${subcommand}'`);
  return { kind: subcommand === "doctor" ? "doctor" : "stdio", options: serverOptions(values, env) };
}

type Values = Readonly<Partial<Record<FlagName, string | boolean | readonly (string | boolean)[]>>>;

function parse(argv: readonly string[]): { values: Values; positionals: string[] } {
  const options = Object.fromEntries(
    Object.entries<FlagSpec>(FLAGS).map(([name, { short, value, repeatable }]) => [
      name,
      {
        type: value === undefined ? ("boolean" as const) : ("string" as const),
        ...(short ? { short } : {}),
        multiple: repeatable === true,
      },
    ]),
  );
  try {
    return parseArgs({ args: [...argv], options, allowPositionals: true });
  } catch (error) {
    throw new UsageError(complaint(error));
  }
}

function complaint(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error);
  const unknown = /^Unknown option '([^']*)'/.exec(message);
  if (errorCode(error) === "ERR_PARSE_ARGS_UNKNOWN_OPTION" && unknown) return `unexpected argument '${unknown[1]}' found`;
  return message.split("\n")[0] ?? message;
}

function refuseUnbuilt(values: Values): void {
  for (const name of Object.keys(values)) {
    const spec: FlagSpec | undefined = FLAGS[name as FlagName];
    if (spec?.notYet) throw new UsageError(`--${name} cannot be used: ${spec.notYet}`);
  }
}

function serverOptions(values: Values, env: NodeJS.ProcessEnv): ServerOptions {
  const feature = (name: "enable" | "disable") => texts(values[name]).map((key) => `features.${key}=${name === "enable"}`);
  const model = text(values.model);
  const profile = text(values.profile);
  const cwd = text(values.cd);
  const sandboxBin = text(values["sandbox-bin"]);
  const sandbox = choice("--sandbox", text(values.sandbox), SANDBOX_MODES);
  const approvalPolicy = choice("--ask-for-approval", text(values["ask-for-approval"]), APPROVAL_POLICIES);
  return {
    overrides: [...texts(values.config), ...feature("enable"), ...feature("disable")],
    ...(model === undefined ? {} : { model }),
    ...(profile === undefined ? {} : { profile }),
    ...(cwd === undefined ? {} : { cwd }),
    ...(sandbox === undefined ? {} : { sandbox }),
    ...(approvalPolicy === undefined ? {} : { approvalPolicy }),
    strictConfig: values["strict-config"] === true,
    engine: engineOf(text(values.engine)),
    tools: choice("--tools", text(values.tools) ?? (env["CODEX_MCP_TOOLS"] || undefined), TOOL_SETS) ?? "codex",
    approvalFallback: choice("--approval-fallback", text(values["approval-fallback"]), FALLBACKS) ?? "auto-within-policy",
    ...(sandboxBin === undefined ? {} : { sandboxBin }),
    eofGraceMs: seconds("--eof-grace", text(values["eof-grace"]) ?? "2"),
  };
}

function engineOf(name: string | undefined): ServerOptions["engine"] {
  if (name === "codex") throw new UsageError("--engine codex cannot be used: the codex engine is not built yet; use --engine native");
  const chosen = choice("--engine", name, ["auto", ...ENGINES]) ?? "auto";
  return chosen === "auto" ? "native" : chosen;
}

function choice<const T extends string>(flag: string, value: string | undefined, allowed: readonly T[]): T | undefined {
  if (value === undefined) return undefined;
  const found = allowed.find((name) => name === value);
  if (found === undefined) throw new UsageError(`invalid value '${value}' for ${flag}: expected ${allowed.join(", ")}`);
  return found;
}

/** Longer than a day is a mistake, and longer than about 24 days no timer can wait. */
const MAX_SECONDS = 86_400;

function seconds(flag: string, value: string): number {
  const number = Number(value);
  if (value.trim() === "" || !(number >= 0 && number <= MAX_SECONDS))
    throw new UsageError(`invalid value '${value}' for ${flag}: expected seconds from 0 to ${MAX_SECONDS}`);
  return number * 1000;
}

function text(value: Values[FlagName]): string | undefined {
  return typeof value === "string" ? value : undefined;
}

function texts(value: Values[FlagName]): string[] {
  return Array.isArray(value) ? value.filter((entry) => typeof entry === "string") : [];
}
