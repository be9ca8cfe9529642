import { accessSync, constants, mkdirSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import type { Launch } from "../../../exec/launch.js";
import { MARK_HEADER, MARK_VARIABLE, markText, type TurnMark } from "../../../exec/nesting/turnMark.js";
import type { OutsidePrograms } from "../../../exec/outside/outsidePrograms.js";
import { isExecutableFile } from "../../../exec/outside/systemPrograms.js";
import type { ConfinedCommand } from "../../../exec/sandbox/fileView.js";
import { errorCode } from "../../../lib/errors.js";
import type { McpServerSettings, McpServerTransport } from "../../../threads/settings.js";
import { McpProgramDistrusted } from "./failures.js";
import { fetchMessages, HttpTransport } from "./httpTransport.js";
import { type ProgramTransport, startServerProgram } from "./programTransport.js";

export interface ServerLink {
  readonly transport: ProgramTransport | HttpTransport;
  /** What the server was given and must not be repeated in a text of ours. */
  readonly secrets: Readonly<Record<string, string>>;
  /** Where it is; its query may be secret too. */
  readonly url?: URL;
}

export interface LinkOptions {
  readonly host: ServerHost;
  /** What tells servers that they are inside a turn. Absent: the strictest. */
  readonly mark?: TurnMark | undefined;
  /** Keeps a program from being started. */
  readonly signal: AbortSignal;
}

/** The way to a server: its program is started, or its address is known. */
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

/** What the programs of servers are started with. They run outside the sandbox, so nothing a command could write decides what runs. */
export interface ServerHost {
  readonly env: Environment;
  readonly codexHome: string;
  readonly outside: Pick<OutsidePrograms, "find" | "distrusted" | "searchPath">;
  /** Holds a program together, so that nothing of it outlives us. */
  contain(command: ConfinedCommand): Promise<Launch>;
}

type Program = Extract<McpServerTransport, { kind: "program" }>;

/** A server's program as it is to be started. Throws the system's error when there is no such program. */
function serverProgram(transport: Program, { env, codexHome, outside }: ServerHost): ConfinedCommand {
  return {
    argv: [findProgram(transport, { codexHome, outside }), ...transport.args],
    cwd: transport.cwd ?? startFolder(codexHome),
    env: programEnvironment(transport, { ...env, PATH: outside.searchPath }),
  };
}

/** A path is taken as it was configured; a name is looked for where no command can have planted a program. */
function findProgram({ command, cwd, env }: Program, { codexHome, outside }: Pick<ServerHost, "codexHome" | "outside">): string {
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

/** A search path that the configuration writes for a server stands as it is. */
function onPath(name: string, searchPath: string): string | undefined {
  const folders = searchPath.split(path.delimiter).filter((folder) => path.isAbsolute(folder));
  return folders.map((folder) => path.join(folder, name)).find(isExecutableFile);
}

function notThere(command: string): Error {
  return Object.assign(new Error(`${command}: No such file or directory`), { code: "ENOENT", errno: -os.constants.errno.ENOENT });
}

/**
 * Where servers run that name no folder: never where commands may write, for package runners prefer what lies there, and not
 * only there but in every folder above. The file ends their search.
 */
function startFolder(codexHome: string): string {
  const folder = path.join(codexHome, "mcp-server", "start-folder");
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    writeFileSync(path.join(folder, "package.json"), '{ "private": true }\n', { flag: "wx", mode: 0o600 });
  } catch (error) {
    if (errorCode(error) !== "EEXIST") return path.parse(codexHome).root;
  }
  return folder;
}

type Environment = Readonly<Record<string, string | undefined>>;

/** What a program needs to find its way on the machine. Everything else, keys above all, is passed on only where it is named. */
const CORE = ["HOME", "LOGNAME", "PATH", "SHELL", "USER", "__CF_USER_TEXT_ENCODING", "LANG", "LC_ALL", "TERM", "TMPDIR", "TZ"];

type Http = Extract<McpServerTransport, { kind: "http" }>;

/** The variables a server that runs as a program gets. */
export function programEnvironment({ env, envVars }: Pick<Program, "env" | "envVars">, ours: Environment): Record<string, string> {
  const passed: Record<string, string> = {};
  for (const name of [...CORE, ...envVars]) {
    const value = ours[name];
    if (value !== undefined) passed[name] = value;
  }
  return { ...passed, ...env };
}

/** The headers a server on HTTP gets. Throws when its token is not there. */
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
