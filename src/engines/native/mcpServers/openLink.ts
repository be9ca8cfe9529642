import { MARK_HEADER, MARK_VARIABLE, markText, type TurnMark } from "../../../exec/nesting/turnMark.js";
import type { McpServerSettings } from "../../../threads/settings.js";
import { httpHeaders } from "./environment.js";
import { HttpTransport } from "./http.js";
import { fetchMessages } from "./nodeFetch.js";
import { type ProgramTransport, startServerProgram } from "./program.js";
import { type ProgramSurroundings, serverProgram } from "./serverProgram.js";

export interface ServerLink {
  readonly transport: ProgramTransport | HttpTransport;
  /** What the server was given and must not be repeated in a text of ours. */
  readonly secrets: Readonly<Record<string, string>>;
  /** Where it is; its query may be secret too. */
  readonly url?: URL;
}

export interface LinkOptions {
  readonly around: ProgramSurroundings;
  /** What tells servers that they are inside a turn. Absent: the strictest. */
  readonly mark?: TurnMark | undefined;
  /** Keeps a program from being started. */
  readonly signal: AbortSignal;
}

/** The way to a server: its program is started, or its address is known. */
export async function openLink({ name, transport }: McpServerSettings, options: LinkOptions): Promise<ServerLink> {
  const { around, mark = "sealed", signal } = options;
  if (transport.kind === "program") {
    const command = serverProgram(transport, around);
    const env: Readonly<Record<string, string>> = { ...command.env, [MARK_VARIABLE]: markText(mark) };
    const program = await startServerProgram(await around.contain({ ...command, env }), signal);
    const named = [...transport.envVars, ...Object.keys(transport.env)];
    return { transport: program, secrets: Object.fromEntries(named.map((variable) => [variable, env[variable] ?? ""])) };
  }
  const headers = httpHeaders(name, transport, around.env);
  const sent = { ...headers, [MARK_HEADER]: "1" };
  const { StreamableHTTPClientTransport } = await import("./sdk.js");
  const url = new URL(transport.url);
  const inner = new StreamableHTTPClientTransport(url, { requestInit: { headers: sent }, fetch: fetchMessages });
  return { transport: new HttpTransport(inner), secrets: headers, url };
}
