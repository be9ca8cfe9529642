import type { Caller } from "../../agent/caller.js";
import { invalidParams, RpcError } from "../../jsonrpc/errors.js";
import type { RequestId } from "../../jsonrpc/message.js";
import type { JsonRpcPeer } from "../../jsonrpc/peer.js";
import { type Fields, isFields, textOrNothing } from "../../lib/fields.js";
import type { ClientInfo } from "../clientProfiles.js";
import { STATELESS_REVISIONS, VERSION_CLAIM } from "../revisions.js";
import { isLogLevel, type LogLevel } from "../wording/logMessage.js";
import { readProgressToken } from "../wording/turnView.js";

export const META = {
  protocolVersion: VERSION_CLAIM,
  clientInfo: "io.modelcontextprotocol/clientInfo",
  clientCapabilities: "io.modelcontextprotocol/clientCapabilities",
  logLevel: "io.modelcontextprotocol/logLevel",
  serverInfo: "io.modelcontextprotocol/serverInfo",
  subscriptionId: "io.modelcontextprotocol/subscriptionId",
} as const;

export const TASKS_EXTENSION = "io.modelcontextprotocol/tasks";
/** Clients that declare it get `codex/event` notifications. */
export const EVENTS_EXTENSION = "codex-mcpd/events";

/** What a request declares about its sender. */
export interface Claim {
  readonly version: string;
  /** Optional in this era. */
  readonly client: ClientInfo | undefined;
  readonly capabilities: Fields;
  readonly extensions: Fields;
  readonly logLevel: LogLevel | undefined;
  readonly progressToken: RequestId | undefined;
}

/** Whether the client can show forms. An elicitation capability without a mode means forms. */
export function takesForms({ capabilities }: Claim): boolean {
  const { elicitation } = capabilities;
  return isFields(elicitation) && (isFields(elicitation["form"]) || Object.keys(elicitation).length === 0);
}

/** Reads and checks the claim of a request. Throws the JSON-RPC error that describes the problem. */
export function readClaim(params: unknown): Claim {
  const meta = isFields(params) && isFields(params["_meta"]) ? params["_meta"] : {};
  const version = meta[META.protocolVersion];
  if (typeof version !== "string") throw invalidParams(`\`_meta["${META.protocolVersion}"]\` must be a string`);
  if (!STATELESS_REVISIONS.some((served) => served === version)) throw unsupportedVersion(version, STATELESS_REVISIONS);
  const capabilities = meta[META.clientCapabilities];
  if (!isFields(capabilities)) throw invalidParams(`\`_meta["${META.clientCapabilities}"]\` must be an object`);
  return {
    version,
    client: readClientInfo(meta[META.clientInfo]),
    capabilities,
    extensions: isFields(capabilities["extensions"]) ? capabilities["extensions"] : {},
    logLevel: readLogLevel(meta[META.logLevel]),
    progressToken: readProgressToken({ _meta: meta }),
  };
}

/** Malformed client info is ignored, because nothing depends on it. */
function readClientInfo(info: unknown): ClientInfo | undefined {
  if (!isFields(info) || typeof info["name"] !== "string") return undefined;
  return { name: info["name"], version: textOrNothing(info["version"]) };
}

function readLogLevel(level: unknown): LogLevel | undefined {
  if (level === undefined || isLogLevel(level)) return level;
  throw invalidParams(`\`_meta["${META.logLevel}"]\` is not a log level`);
}

/** What was learned from a client's behaviour on its own channel. */
export interface ClientHabits {
  /** The client declines questions without asking a person. */
  answersByItself: boolean;
}

/** Whether the sender may be asked questions. */
export function canBeAsked({ claim, habits }: Pick<StatelessRequest, "claim" | "habits">): boolean {
  return takesForms(claim) && habits?.answersByItself !== true;
}

/** A stateless request: its sender, the sender's capabilities, and a channel for messages before the result. */
export interface StatelessRequest {
  readonly id: RequestId;
  readonly method: string;
  readonly params: Fields;
  readonly claim: Claim;
  /** Aborts when the request is cancelled or its connection closes. */
  readonly signal: AbortSignal;
  /** Undefined for a stdio client that no turn started: it belongs to the server's user. */
  readonly caller: Caller | undefined;
  readonly peer: Pick<JsonRpcPeer, "notify" | "notifyText" | "congested">;
  /** Absent where several clients may share the channel. */
  readonly habits?: ClientHabits | undefined;
}

/** The handler of one method. The fields that every result of this era needs are added to its result. */
export type StatelessMethod = (request: StatelessRequest) => Promise<Fields>;

/** The error codes that 2026-07-28 defines. */
export const STATELESS_RPC = { headerMismatch: -32020, missingCapability: -32021, unsupportedVersion: -32022 } as const;

export function headerMismatch(message: string): RpcError {
  return new RpcError(STATELESS_RPC.headerMismatch, message);
}

export function missingCapability(message: string, requiredCapabilities: Readonly<Record<string, unknown>>): RpcError {
  return new RpcError(STATELESS_RPC.missingCapability, message, { requiredCapabilities });
}

export function unsupportedVersion(requested: string, supported: readonly string[]): RpcError {
  return new RpcError(STATELESS_RPC.unsupportedVersion, `Unsupported protocol version: ${requested.slice(0, 40)}`, {
    supported,
    requested,
  });
}
