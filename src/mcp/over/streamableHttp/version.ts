import type { IncomingMessage } from "node:http";
import { HANDSHAKE_REVISIONS } from "../../revisions.js";
import { HTTP_RPC, RpcProblem } from "../network/problems.js";

/** A revision we do not speak is refused; one we speak is fine even if another was negotiated, since some clients name their newest. */
export function checkProtocolVersion({ headers }: IncomingMessage): void {
  const requested = headers["mcp-protocol-version"];
  if (requested === undefined || HANDSHAKE_REVISIONS.some((revision) => revision === requested)) return;
  throw new RpcProblem({
    status: 400,
    code: HTTP_RPC.versionNotServed,
    message: `Unsupported protocol version: ${String(requested).slice(0, 40)}. This server speaks ${HANDSHAKE_REVISIONS.join(", ")}.`,
    extra: { supported: HANDSHAKE_REVISIONS, requested },
  });
}
