import type { Caller } from "../../agent/caller.js";
import type { RequestId } from "../../jsonrpc/message.js";
import type { IncomingRequest } from "../../jsonrpc/peer.js";
import { isFields } from "../../lib/fields.js";
import { claimsVersion, readClaim } from "../stateless/claim.js";
import type { StatelessDoor } from "../stateless/server.js";
import { MCP_DISPATCH } from "./methods.js";
import type { Dispatch, Session } from "./session.js";

/**
 * Both eras on the channel of one session, message by message: what names its version itself is of the era without sessions, all else of the
 * one with.
 */
export function bothEras(stateless: () => Promise<StatelessDoor>): Dispatch {
  const inFlight = new Set<RequestId>();
  const answer = async (session: Session, request: IncomingRequest) => {
    inFlight.add(request.id);
    try {
      return await answerStateless(session, request, stateless);
    } finally {
      inFlight.delete(request.id);
    }
  };
  return {
    answer: (session, request) => (claimsVersion(request.params) ? answer(session, request) : MCP_DISPATCH.answer(session, request)),
    // `notifications/cancelled` names a request of whichever era.
    notified: (session, method, params) => MCP_DISPATCH.notified(session, method, params),
    left(session) {
      for (const id of inFlight) session.peer.cancel(id, new Error("the client has closed its connection"));
    },
  };
}

async function answerStateless(
  { parts, peer }: Session,
  request: IncomingRequest,
  stateless: () => Promise<StatelessDoor>,
): Promise<unknown> {
  const { id, method, params } = request;
  const claim = readClaim(params);
  const door = await stateless();
  return door.answer({
    id,
    method,
    params: isFields(params) ? params : {},
    claim,
    get signal() {
      return request.signal;
    },
    caller: withoutSession(parts.caller),
    peer,
  });
}

/** The channel's session is nothing to a request that stands for itself. */
function withoutSession(caller: Caller | undefined): Caller | undefined {
  if (!caller) return undefined;
  const { sessionId: _, ...who } = caller;
  return who;
}
