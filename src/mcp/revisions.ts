import { isFields } from "../lib/fields.js";

/** The MCP revisions with a handshake, oldest first. */
export const HANDSHAKE_REVISIONS = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"] as const;
export type HandshakeRevision = (typeof HANDSHAKE_REVISIONS)[number];

export const NEWEST_HANDSHAKE: HandshakeRevision = "2025-11-25";

/** The stateless MCP revisions, without a handshake. */
export const STATELESS_REVISIONS = ["2026-07-28"] as const;

/** Returns the requested revision if it is supported, otherwise our newest. */
export function negotiate(asked: string): HandshakeRevision {
  return HANDSHAKE_REVISIONS.find((revision) => revision === asked) ?? NEWEST_HANDSHAKE;
}

const WITH_BATCHES: HandshakeRevision = "2025-03-26";

/** Why batches are refused; undefined in the one revision that has them. */
export function batchObjection(revision: HandshakeRevision | undefined): string | undefined {
  return revision === WITH_BATCHES ? undefined : `batches exist only in protocol version ${WITH_BATCHES}`;
}

/** Whether a stream starts with an event without a message, so that a client can resume even if nothing else arrives. */
export function primesStreams(revision: HandshakeRevision | undefined): boolean {
  return revision === "2025-11-25";
}

/** Older clients do not pass `structuredContent` to their model. */
export function hasStructuredContent(revision: HandshakeRevision): boolean {
  return revision >= "2025-06-18";
}

/** The `_meta` key in which a stateless request names its version. */
export const VERSION_CLAIM = "io.modelcontextprotocol/protocolVersion";

/** Whether a message belongs to the stateless era: only such messages name their version. */
export function claimsVersion(params: unknown): boolean {
  return isFields(params) && isFields(params["_meta"]) && VERSION_CLAIM in params["_meta"];
}
