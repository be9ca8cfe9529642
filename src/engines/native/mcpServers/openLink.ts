import type { McpServerSettings } from "../../../threads/model.js";
import { MARK_HEADER, MARK_VARIABLE, markText, type TurnMark } from "../../../threads/turnMark.js";
import { type Environment, httpHeaders, programEnvironment } from "./environment.js";
import { HttpTransport } from "./http.js";
import { fetchMessages } from "./nodeFetch.js";
import { type ProgramTransport, startServerProgram } from "./program.js";

export interface ServerLink {
  readonly transport: ProgramTransport | HttpTransport;
  /** What the server was given and must not be repeated in a text of ours. */
  readonly secrets: Readonly<Record<string, string>>;
}

export interface Surroundings {
  readonly env: Environment;
  /** Where programs run that say nothing else. */
  readonly cwd: string;
  /** What tells servers that they are inside a turn. Absent: the strictest. */
  readonly mark?: TurnMark | undefined;
}

/** The way to a server: its program is started, or its address is known. */
export async function openLink({ name, transport }: McpServerSettings, { env, cwd, mark = "sealed" }: Surroundings): Promise<ServerLink> {
  if (transport.kind === "program") {
    const { command, args } = transport;
    const given: Readonly<Record<string, string>> = { ...programEnvironment(transport, env), [MARK_VARIABLE]: markText(mark) };
    const program = await startServerProgram({ command, args, cwd: transport.cwd ?? cwd, env: given });
    const named = [...transport.envVars, ...Object.keys(transport.env)];
    return { transport: program, secrets: Object.fromEntries(named.map((variable) => [variable, given[variable] ?? ""])) };
  }
  const headers = httpHeaders(name, transport, env);
  const sent = { ...headers, [MARK_HEADER]: "1" };
  const { StreamableHTTPClientTransport } = await import("./sdk.js");
  const inner = new StreamableHTTPClientTransport(new URL(transport.url), { requestInit: { headers: sent }, fetch: fetchMessages });
  return { transport: new HttpTransport(inner), secrets: headers };
}
