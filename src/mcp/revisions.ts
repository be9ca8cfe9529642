import { isFields } from "../lib/fields.js";

/** The revisions of MCP that begin with a handshake, oldest first. */
export const HANDSHAKE_REVISIONS = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"] as const;
export type HandshakeRevision = (typeof HANDSHAKE_REVISIONS)[number];

export const NEWEST_HANDSHAKE: HandshakeRevision = "2025-11-25";

/** Those in which every message stands for itself. */
export const STATELESS_REVISIONS = ["2026-07-28"] as const;

/** A revision we speak is taken as asked for; any other request gets our newest. */
export function negotiate(asked: string): HandshakeRevision {
  return HANDSHAKE_REVISIONS.find((revision) => revision === asked) ?? NEWEST_HANDSHAKE;
}

const WITH_BATCHES: HandshakeRevision = "2025-03-26";

/** Why arrays of messages are refused; undefined in the one revision that has them. */
export function batchObjection(revision: HandshakeRevision | undefined): string | undefined {
  return revision === WITH_BATCHES ? undefined : `batches exist only in protocol version ${WITH_BATCHES}`;
}

/** A stream begins with an event that is no message, so that a client can come back even if nothing else arrives. */
export function primesStreams(revision: HandshakeRevision | undefined): boolean {
  return revision === "2025-11-25";
}

/** Older clients do not hand `structuredContent` to their model. One that never shook hands is taken for a current one, as Codex does. */
export function hasStructuredContent(revision: HandshakeRevision | undefined): boolean {
  return revision === undefined || revision >= "2025-06-18";
}

/** Where a request of the era without sessions names its version, in `_meta`. */
export const VERSION_CLAIM = "io.modelcontextprotocol/protocolVersion";

/** Whether a message is of the era without sessions: it names its version itself. Nothing else tells. */
export function claimsVersion(params: unknown): boolean {
  return isFields(params) && isFields(params["_meta"]) && VERSION_CLAIM in params["_meta"];
}
