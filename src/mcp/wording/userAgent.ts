import os from "node:os";
import { VERSION } from "../../lib/version.js";

/** How this server names itself, in Codex's form: product, system, terminal, and the client it works for. */
export function userAgent(env: NodeJS.ProcessEnv, client?: { readonly name: string; readonly version: string }): string {
  const terminal = env["TERM_PROGRAM"] || env["TERM"] || "unknown";
  const behalf = client ? ` (${client.name}; ${client.version})` : "";
  return `codex_mcpd/${VERSION} (${os.type()} ${os.release()}; ${os.machine()}) ${terminal}${behalf}`;
}
