import { parseArgs } from "node:util";
import { FALLBACKS } from "../approvals/fallback.js";
import { EVENT_MODES } from "../config/schema/server.js";
import { type CodexSearch, findCodex, passedOver } from "../engines/codex/appServer/locate.js";
import { APPROVAL_POLICIES, type ApprovalPolicy, SANDBOX_MODES, type SandboxMode } from "../exec/policies.js";
import { AppError, describe, errorCode, UsageError } from "../lib/errors.js";
import { isToolSet, TOOL_SETS, ToolSetsClash, toolsOf } from "../mcp/tools/sets.js";
import type { ToolSetName } from "../mcp/tools/tool.js";
import { ENGINES, type ServerOptions } from "../server/context.js";
import type { ListenOptions } from "../server/httpContext.js";
import { writablePlaces } from "../server/writablePlaces.js";
import { listenOptions } from "./listenOptions.js";
import { FLAGS, type FlagSpec, flagChoice, flagPatience, flagSeconds, flagText, flagTexts, type Values } from "./options.js";

export type CliCommand =
  | { readonly kind: "help" }
  | { readonly kind: "version" }
  | { readonly kind: "token" }
  | { readonly kind: "doctor"; readonly options: ServerOptions; readonly asJson: boolean }
  | { readonly kind: "stdio"; readonly options: ServerOptions }
  | { readonly kind: "http"; readonly options: ServerOptions; readonly listen: ListenOptions; readonly opensConsole?: true };

const SUBCOMMANDS: readonly string[] = ["mcp-server", "serve", "open", "doctor", "token"];

export function parseCommand(argv: readonly string[], env: NodeJS.ProcessEnv): CliCommand {
  const { values, positionals } = parse(argv);
  if (values["help"]) return { kind: "help" };
  if (values["version"]) return { kind: "version" };
  const [subcommand = "mcp-server", surplus] = inTodaysSpelling(positionals);
  if (surplus !== undefined) throw new UsageError(`unexpected argument '${surplus}' found`);
  if (!SUBCOMMANDS.includes(subcommand)) throw new UsageError(`unrecognized subcommand '${subcommand}'`);
  if (subcommand === "token") return tokenCommand(values);
  const asJson = values.json === true;
  if (asJson && subcommand !== "doctor") throw new UsageError("--json can be used with 'doctor' only");
  const options = serverOptions(values, env);
  const listen = listenOptions(values, { serve: subcommand === "serve" || subcommand === "open", env });
  if (subcommand === "doctor") return { kind: "doctor", options, asJson };
  if (!listen) return { kind: "stdio", options };
  return { kind: "http", options, listen, ...(subcommand === "open" && { opensConsole: true }) };
}

/** Older Codex versions had other spellings of `codex mcp-server`, which client configurations still contain. */
function inTodaysSpelling(words: readonly string[]): readonly string[] {
  const [first, second, ...rest] = words;
  if (first !== "mcp") return words;
  if (second === undefined || second === "serve") return ["mcp-server", ...rest];
  // In newer Codex versions, `mcp` manages the servers that Codex itself uses.
  throw new UsageError(
    `unexpected argument '${second}' found: 'mcp' and 'mcp serve' start this server; for 'mcp ${second}' use the Codex CLI`,
  );
}

/** The command takes no flags. */
function tokenCommand(values: Values): CliCommand {
  const [flag] = Object.keys(values);
  if (flag !== undefined) throw new UsageError(`--${flag} cannot be used with 'token'`);
  return { kind: "token" };
}

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
    return parseArgs({ args: argv.map(inLongSpelling), options, allowPositionals: true });
  } catch (error) {
    throw new UsageError(complaint(error));
  }
}

/** In Codex, `-m=x` means `-m x`. For Node, the value would begin with the equals sign. */
function inLongSpelling(word: string): string {
  const [, short, value] = /^-(\w)=(.*)$/s.exec(word) ?? [];
  const named = Object.entries<FlagSpec>(FLAGS).find(([, spec]) => short !== undefined && spec.short === short && spec.value !== undefined);
  return named ? `--${named[0]}=${value}` : word;
}

function complaint(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error);
  const unknown = /^Unknown option '([^']*)'/.exec(message);
  if (errorCode(error) === "ERR_PARSE_ARGS_UNKNOWN_OPTION" && unknown) return `unexpected argument '${unknown[1]}' found`;
  return message.replaceAll("\n", " ");
}

function serverOptions(values: Values, env: NodeJS.ProcessEnv): ServerOptions {
  const feature = (name: "enable" | "disable") => flagTexts(values[name]).map((key) => `features.${key}=${name === "enable"}`);
  const model = flagText(values.model);
  const profile = flagText(values.profile);
  const cwd = flagText(values.cd);
  const waitMs = flagPatience("--wait", flagText(values.wait));
  const sandboxBin = flagText(values["sandbox-bin"]);
  const codexBin = flagText(values["codex-bin"]);
  const preset = presetOf(values);
  const sandbox = flagChoice("--sandbox", flagText(values.sandbox), SANDBOX_MODES) ?? preset?.sandbox;
  const approvalPolicy =
    flagChoice("--ask-for-approval", flagText(values["ask-for-approval"]), APPROVAL_POLICIES) ?? preset?.approvalPolicy;
  const events = flagChoice("--events", flagText(values.events), EVENT_MODES);
  return {
    overrides: [
      ...(values.search ? ['web_search="live"'] : []),
      ...flagTexts(values.config),
      ...feature("enable"),
      ...feature("disable"),
      ...(events === undefined ? [] : [`mcp_server.events="${events}"`]),
    ],
    ...(model === undefined ? {} : { model }),
    ...(profile === undefined ? {} : { profile }),
    ...(cwd === undefined ? {} : { cwd }),
    ...(sandbox === undefined ? {} : { sandbox }),
    ...(approvalPolicy === undefined ? {} : { approvalPolicy }),
    strictConfig: values["strict-config"] === true,
    ...engineOf(flagText(values.engine), {
      env,
      writable: writablePlaces({ serverCwd: workingDirectory(), env, cwd, allowRoots: flagTexts(values["allow-root"]) }),
      ...(codexBin === undefined ? {} : { codexBin }),
    }),
    tools: toolSets(flagText(values.tools) ?? (env["CODEX_MCP_TOOLS"] || "codex")),
    approvalFallback: flagChoice("--approval-fallback", flagText(values["approval-fallback"]), FALLBACKS) ?? "auto-within-policy",
    ...(sandboxBin === undefined ? {} : { sandboxBin }),
    ...(codexBin === undefined ? {} : { codexBin }),
    eofGraceMs: flagSeconds("--eof-grace", flagText(values["eof-grace"]) ?? "1.5"),
    ...(waitMs === undefined ? {} : { waitMs }),
  };
}

/** Codex took these before `mcp-server`, and configurations of clients have them. `-s` and `-a` are more explicit. */
function presetOf(values: Values): { readonly sandbox: SandboxMode; readonly approvalPolicy: ApprovalPolicy } | undefined {
  if (values["dangerously-bypass-approvals-and-sandbox"] || values.yolo) return { sandbox: "danger-full-access", approvalPolicy: "never" };
  if (values["full-auto"]) return { sandbox: "workspace-write", approvalPolicy: "on-request" };
  return undefined;
}

export function workingDirectory(): string {
  try {
    return process.cwd();
  } catch (error) {
    throw new StartFolderGone(
      `The folder in which this was started cannot be found (${describe(error)}). Perhaps it was deleted: start in another one.`,
      { cause: error },
    );
  }
}

class StartFolderGone extends AppError {
  readonly code = "start_folder_gone";
}

function toolSets(list: string): ToolSetName[] {
  const names = list.split(",").map((name) => name.trim());
  const sets = [...new Set(names)].map((name) => {
    if (!isToolSet(name)) throw new UsageError(`invalid value '${name}' for --tools: expected ${Object.keys(TOOL_SETS).join(", ")}`);
    return name;
  });
  try {
    toolsOf(sets);
  } catch (error) {
    if (error instanceof ToolSetsClash) throw new UsageError(error.message, { cause: error });
    throw error;
  }
  return sets;
}

/** Finding a Codex is enough here. Whether it works is checked when it is needed. */
function engineOf(name: string | undefined, search: CodexSearch): Pick<ServerOptions, "engine" | "engineIsAuto" | "engineNotice"> {
  const chosen = flagChoice("--engine", name, ["auto", ...ENGINES]) ?? "auto";
  if (chosen !== "auto") return { engine: chosen, engineIsAuto: false };
  if (findCodex(search)) return { engine: "codex", engineIsAuto: true };
  const notice = passedOver(search);
  return { engine: "native", engineIsAuto: true, ...(notice === undefined ? {} : { engineNotice: `engine native is used: ${notice}` }) };
}
