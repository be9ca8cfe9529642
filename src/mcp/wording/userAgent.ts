import os from "node:os";
import { VERSION } from "../../lib/version.js";

/** The user agent in Codex's format: product, system, terminal and client. */
export function userAgent(env: NodeJS.ProcessEnv, client?: { readonly name: string; readonly version: string }): string {
  const terminal = env["TERM_PROGRAM"] || env["TERM"] || "unknown";
  const behalf = client ? ` (${client.name}; ${client.version})` : "";
  return `codex_mcpd/${VERSION} (${os.type()} ${os.release()}; ${os.machine()}) ${terminal}${behalf}`;
}
