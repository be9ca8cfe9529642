import { systemReason } from "../../../exec/patch/errors.js";
import { AppError } from "../../../lib/errors.js";
import type { McpServerSettings } from "../../../threads/settings.js";

/** A server of config.toml did not start. `reason` is the bare cause; the message is for people. */
export class McpServerNotStarted extends AppError {
  readonly code = "mcp_server_not_started";
  constructor(
    message: string,
    readonly reason: string,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}

/** The time limit of one step expired. */
export class McpTimedOut extends AppError {
  readonly code = "mcp_timed_out";

  /** The official client sends this text to the server as the reason of the cancellation; the message is for the caller. */
  override toString(): string {
    return "timed out";
  }
}

/** The server requires authentication. */
export class McpLoginNeeded extends AppError {
  readonly code = "mcp_login_needed";
}

/** The only program of that name is one that a command may have planted. */
export class McpProgramDistrusted extends AppError {
  readonly code = "mcp_program_distrusted";
  constructor(command: string, found: string) {
    super(
      `\`${command}\` is found only as ${found}, which commands can write; install it elsewhere, or give its whole path as \`command\` in config.toml`,
    );
  }
}

interface RequestFailureOptions extends ErrorOptions {
  readonly isLost?: boolean;
  readonly isMisfit?: boolean;
}

/** The server refused a request, or is gone. */
export class McpRequestFailed extends AppError {
  readonly code = "mcp_request_failed";
  /** The connection ended, and with it the request. */
  readonly isLost: boolean;
  /** The response has another form than the method's. */
  readonly isMisfit: boolean;
  constructor(message: string, { isLost = false, isMisfit = false, ...options }: RequestFailureOptions = {}) {
    super(message, options);
    this.isLost = isLost;
    this.isMisfit = isMisfit;
  }
}

/** The call is invalid. */
export class McpCallRefused extends AppError {
  readonly code = "mcp_call_refused";
}

/** Closed before it was up. */
export class McpStartCancelled extends AppError {
  readonly code = "mcp_start_cancelled";
}

export function notStarted({ name, startupTimeoutMs }: McpServerSettings, cause: unknown): McpServerNotStarted {
  const reason = systemReason(cause);
  if (cause instanceof McpTimedOut) {
    const seconds = Math.floor(startupTimeoutMs / 1000);
    return new McpServerNotStarted(
      `MCP client for \`${name}\` timed out after ${seconds} seconds. Add or adjust \`startup_timeout_sec\` in your config.toml:\n[mcp_servers.${name}]\nstartup_timeout_sec = XX`,
      reason,
      { cause },
    );
  }
  if (cause instanceof McpLoginNeeded) {
    return new McpServerNotStarted(
      `The ${name} MCP server requires a login. Put a token into an environment variable and name it in your config.toml:\n[mcp_servers.${name}]\nbearer_token_env_var = "XX"`,
      reason,
      { cause },
    );
  }
  return new McpServerNotStarted(`MCP client for \`${name}\` failed to start: MCP startup failed: ${reason}`, reason, { cause });
}

/** In Codex's format for durations: `60s`, `1.5s`, `250ms`. */
export function durationText(ms: number): string {
  return ms >= 1000 ? `${ms / 1000}s` : `${ms}ms`;
}
