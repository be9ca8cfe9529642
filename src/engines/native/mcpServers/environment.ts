import type { McpServerTransport } from "../../../threads/settings.js";

export type Environment = Readonly<Record<string, string | undefined>>;

/** What a program needs to find its way on the machine. Everything else, keys above all, is passed on only where it is named. */
const CORE = ["HOME", "LOGNAME", "PATH", "SHELL", "USER", "__CF_USER_TEXT_ENCODING", "LANG", "LC_ALL", "TERM", "TMPDIR", "TZ"];

type Program = Extract<McpServerTransport, { kind: "program" }>;
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
