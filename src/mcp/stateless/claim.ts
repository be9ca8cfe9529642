import { invalidParams } from "../../jsonrpc/errors.js";
import type { RequestId } from "../../jsonrpc/message.js";
import { type Fields, isFields } from "../../lib/fields.js";
import { readProgressToken } from "../call.js";
import { isLogLevel, type LogLevel } from "../wording/logMessage.js";
import { unsupportedVersion } from "./errors.js";

/** The revisions in which every request says for itself what it is. */
export const STATELESS_REVISIONS = ["2026-07-28"] as const;

export const META = {
  protocolVersion: "io.modelcontextprotocol/protocolVersion",
  clientCapabilities: "io.modelcontextprotocol/clientCapabilities",
  logLevel: "io.modelcontextprotocol/logLevel",
  serverInfo: "io.modelcontextprotocol/serverInfo",
  subscriptionId: "io.modelcontextprotocol/subscriptionId",
} as const;

export const TASKS_EXTENSION = "io.modelcontextprotocol/tasks";
/** Clients that declare it get `codex/event` notifications. */
export const EVENTS_EXTENSION = "codex-mcpd/events";

/** What a request says of its sender. */
export interface Claim {
  readonly version: string;
  readonly capabilities: Fields;
  readonly extensions: Fields;
  readonly logLevel: LogLevel | undefined;
  readonly progressToken: RequestId | undefined;
}

/** Whether whoever sent the request can be given questions to fill in. A client that names no kind of them means forms. */
export function takesForms({ capabilities }: Claim): boolean {
  const { elicitation } = capabilities;
  return isFields(elicitation) && (isFields(elicitation["form"]) || Object.keys(elicitation).length === 0);
}

/** Whether a message is of the stateless era: it names its version itself. Nothing else tells. */
export function claimsVersion(params: unknown): boolean {
  return isFields(params) && isFields(params["_meta"]) && META.protocolVersion in params["_meta"];
}

/** The claim of a request, checked. Throws the JSON-RPC error that says what is wrong with it. */
export function readClaim(params: unknown): Claim {
  const meta = isFields(params) && isFields(params["_meta"]) ? params["_meta"] : {};
  const version = meta[META.protocolVersion];
  if (typeof version !== "string") throw invalidParams(`\`_meta["${META.protocolVersion}"]\` must be a string`);
  if (!STATELESS_REVISIONS.some((served) => served === version)) throw unsupportedVersion(version, STATELESS_REVISIONS);
  const capabilities = meta[META.clientCapabilities];
  if (!isFields(capabilities)) throw invalidParams(`\`_meta["${META.clientCapabilities}"]\` must be an object`);
  return {
    version,
    capabilities,
    extensions: isFields(capabilities["extensions"]) ? capabilities["extensions"] : {},
    logLevel: readLogLevel(meta[META.logLevel]),
    progressToken: readProgressToken({ _meta: meta }),
  };
}

function readLogLevel(level: unknown): LogLevel | undefined {
  if (level === undefined || isLogLevel(level)) return level;
  throw invalidParams(`\`_meta["${META.logLevel}"]\` is not a log level`);
}
