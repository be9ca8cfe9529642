/** The revisions of MCP that begin with a handshake, oldest first. */
export const HANDSHAKE_REVISIONS = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"] as const;
export type HandshakeRevision = (typeof HANDSHAKE_REVISIONS)[number];

export const NEWEST_HANDSHAKE: HandshakeRevision = "2025-11-25";

/** A revision we speak is taken as asked for; any other request gets our newest. */
export function negotiate(asked: string): HandshakeRevision {
  return HANDSHAKE_REVISIONS.find((revision) => revision === asked) ?? NEWEST_HANDSHAKE;
}

/** Arrays of messages exist in one revision only. */
export function hasBatches(revision: HandshakeRevision): boolean {
  return revision === "2025-03-26";
}

/** Older clients do not hand `structuredContent` to their model. */
export function hasStructuredContent(revision: HandshakeRevision): boolean {
  return revision >= "2025-06-18";
}
