import { invalidParams } from "../../jsonrpc/errors.js";
import { type Fields, isFields } from "../../lib/fields.js";
import { VERSION } from "../../lib/version.js";
import { type HandshakeRevision, negotiate } from "../revisions.js";
import { userAgent } from "../wording/userAgent.js";

/** The client's part of the handshake. */
export interface Handshake {
  readonly revision: HandshakeRevision;
  readonly name: string;
  readonly version: string;
  readonly elicitation: boolean;
  readonly roots: boolean;
}

/** Limits what a session keeps for its whole life. */
const LONGEST_NAME = 200;

/** Throws `invalidParams` naming what is missing. */
export function readHandshake(params: unknown): Handshake {
  const { protocolVersion, clientInfo, capabilities } = asRecord(params, "params");
  if (typeof protocolVersion !== "string") throw invalidParams("initialize: `protocolVersion` must be a string");
  const { name, version } = asRecord(clientInfo, "clientInfo");
  if (typeof name !== "string" || typeof version !== "string")
    throw invalidParams("initialize: `clientInfo` must have a name and a version");
  return {
    revision: negotiate(protocolVersion),
    name: beginningOf(name),
    version: beginningOf(version),
    elicitation: isFields(capabilities) && isFields(capabilities["elicitation"]),
    roots: isFields(capabilities) && isFields(capabilities["roots"]),
  };
}

/** A copy: a slice of a long text would keep the whole text in memory. */
function beginningOf(text: string): string {
  return text.length <= LONGEST_NAME ? text : Buffer.from(text.slice(0, LONGEST_NAME), "utf16le").toString("utf16le");
}

interface ServerProfile {
  readonly engine: string;
  readonly env: NodeJS.ProcessEnv;
  /** Instructions for the client's model. */
  readonly instructions?: string | undefined;
}

export function initializeResult(client: Handshake, server: ServerProfile): unknown {
  return {
    capabilities: { logging: {}, tools: { listChanged: true } },
    protocolVersion: client.revision,
    serverInfo: { name: "codex-mcp-server", title: "Codex", version: VERSION, user_agent: userAgent(server.env, client) },
    ...(server.instructions === undefined ? {} : { instructions: server.instructions }),
    _meta: { "codex-mcpd/engine": server.engine },
  };
}

function asRecord(value: unknown, name: string): Fields {
  if (isFields(value)) return value;
  throw invalidParams(`initialize: \`${name}\` must be an object`);
}
