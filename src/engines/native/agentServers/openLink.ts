import { accessSync, constants, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import type { Launch } from "../../../exec/launch.js";
import { MARK_HEADER, MARK_VARIABLE, markText, type TurnMark } from "../../../exec/nesting/turnMark.js";
import { isExecutableFile, type OutsidePrograms } from "../../../exec/outside/outsidePrograms.js";
import type { ConfinedCommand } from "../../../exec/sandbox/fileView.js";
import { errorCode } from "../../../lib/errors.js";
import { makeFolderSync } from "../../../lib/files/makeFolder.js";
import type { McpServerSettings, McpServerTransport } from "../../../threads/settings.js";
import { McpProgramDistrusted } from "./failures.js";
import { fetchMessages, HttpTransport } from "./httpTransport.js";
import { type ProgramTransport, startServerProgram } from "./programTransport.js";

export interface ServerLink {
  readonly transport: ProgramTransport | HttpTransport;
  /** Values given to the server that must not appear in our texts. */
  readonly secrets: Readonly<Record<string, string>>;
  /** Its URL; the query may be secret too. */
  readonly url?: URL;
}

export interface LinkOptions {
  readonly host: ServerHost;
  /** Tells servers that they run inside a turn. Absent: the strictest mark. */
  readonly mark?: TurnMark | undefined;
  /** Cancels the start of a program. */
  readonly signal: AbortSignal;
}

/** Opens the transport to a server: starts its program, or prepares its URL. */
export async function openLink({ name, transport }: McpServerSettings, options: LinkOptions): Promise<ServerLink> {
  const { host, mark = "sealed", signal } = options;
  if (transport.kind === "program") {
    const command = serverProgram(transport, host);
    const env: Readonly<Record<string, string>> = { ...command.env, [MARK_VARIABLE]: markText(mark) };
    const program = await startServerProgram(await host.contain({ ...command, env }), signal);
    const named = [...transport.envVars, ...Object.keys(transport.env)];
    return { transport: program, secrets: Object.fromEntries(named.map((variable) => [variable, env[variable] ?? ""])) };
  }
  const headers = httpHeaders(name, transport, host.env);
  const sent = { ...headers, [MARK_HEADER]: "1" };
  const { StreamableHTTPClientTransport } = await import("./sdk.js");
  const url = new URL(transport.url);
  const inner = new StreamableHTTPClientTransport(url, { requestInit: { headers: sent }, fetch: fetchMessages(host.env) });
  return { transport: new HttpTransport(inner), secrets: headers, url };
}

/** How servers' programs are started. They run outside the sandbox, so no file that a command could write may decide what runs. */
export interface ServerHost {
  readonly env: Environment;
  readonly codexHome: string;
  readonly outside: Pick<OutsidePrograms, "find" | "distrusted" | "searchPath">;
  /** Contains a program's processes, so that none outlives this server. */
  contain(command: ConfinedCommand): Promise<Launch>;
}

type Program = Extract<McpServerTransport, { kind: "program" }>;

/** How to start a server's program. Throws the system's error when there is no such program. */
function serverProgram(transport: Program, { env, codexHome, outside }: ServerHost): ConfinedCommand {
  return {
    argv: [findProgram(transport, { codexHome, outside }), ...transport.args],
    cwd: transport.cwd ?? startFolder(codexHome),
    env: programEnvironment(transport, { ...env, PATH: outside.searchPath }),
  };
}

/** A path is used as configured; a name is searched for in folders where no command can have planted a program. */
export function findProgram(
  { command, cwd, env }: Pick<Program, "command" | "cwd" | "env">,
  { codexHome, outside }: Pick<ServerHost, "codexHome" | "outside">,
): string {
  if (command.includes(path.sep)) return executable(path.resolve(cwd ?? codexHome, command));
  const own = env["PATH"];
  const found = own === undefined ? outside.find(command) : onPath(command, own);
  if (found !== undefined) return found;
  const [planted] = own === undefined ? outside.distrusted(command) : [];
  throw planted === undefined ? notThere(command) : new McpProgramDistrusted(command, planted);
}

function executable(file: string): string {
  accessSync(file, constants.X_OK);
  return file;
}

/** A search path set in the server's configuration is used unchanged. */
function onPath(name: string, searchPath: string): string | undefined {
  const folders = searchPath.split(path.delimiter).filter((folder) => path.isAbsolute(folder));
  return folders.map((folder) => path.join(folder, name)).find(isExecutableFile);
}

function notThere(command: string): Error {
  return Object.assign(new Error(`${command}: No such file or directory`), { code: "ENOENT", errno: -os.constants.errno.ENOENT });
}

/**
 * The working folder of servers that name none: never a folder that commands may write, because package runners prefer programs found there
 * and in every parent folder. The file stops their search.
 */
function startFolder(codexHome: string): string {
  const folder = path.join(codexHome, "mcp-server", "start-folder");
  try {
    makeFolderSync(folder);
    writeFileSync(path.join(folder, "package.json"), '{ "private": true }\n', { flag: "wx", mode: 0o600 });
  } catch (error) {
    if (errorCode(error) !== "EEXIST") return path.parse(codexHome).root;
  }
  return folder;
}

type Environment = Readonly<Record<string, string | undefined>>;

/** The variables that a program needs on the machine. Everything else, above all keys, is passed on only if named. */
const CORE = ["HOME", "LOGNAME", "PATH", "SHELL", "USER", "__CF_USER_TEXT_ENCODING", "LANG", "LC_ALL", "TERM", "TMPDIR", "TZ"];

type Http = Extract<McpServerTransport, { kind: "http" }>;

/** The environment of a server that runs as a program. */
export function programEnvironment({ env, envVars }: Pick<Program, "env" | "envVars">, ours: Environment): Record<string, string> {
  const passed: Record<string, string> = {};
  for (const name of [...CORE, ...envVars]) {
    const value = ours[name];
    if (value !== undefined) passed[name] = value;
  }
  return { ...passed, ...env };
}

/** The headers for a server on HTTP. Throws when its token is missing. */
export function httpHeaders(name: string, transport: Http, ours: Environment): Record<string, string> {
  const fromVariables = Object.entries(transport.envHttpHeaders).flatMap(([header, variable]) => {
    const value = ours[variable];
    return value === undefined || value.trim() === "" ? [] : [[header, value]];
  });
  return { ...transport.httpHeaders, ...Object.fromEntries(fromVariables), ...authorization(name, transport, ours) };
}

function authorization(name: string, { bearerTokenEnvVar }: Http, ours: Environment): Record<string, string> {
  if (bearerTokenEnvVar === undefined) return {};
  const token = ours[bearerTokenEnvVar];
  if (token === undefined) throw new Error(`Environment variable ${bearerTokenEnvVar} for MCP server '${name}' is not set`);
  if (token === "") throw new Error(`Environment variable ${bearerTokenEnvVar} for MCP server '${name}' is empty`);
  return { Authorization: `Bearer ${token}` };
}
