import type { Caller } from "../../../agent/caller.js";
import type { RequestBodies } from "../../../http/body.js";
import type { HttpRequest } from "../../../http/request.js";
import type { SessionRules } from "../network/httpSession.js";
import type { StatelessRules } from "./statelessPost.js";

export interface EndpointRules extends SessionRules {
  readonly bodies: RequestBodies;
  readonly maxStreamsPerSession: number;
  readonly stateless: StatelessRules;
}

/** A request to the MCP endpoint. */
export interface EndpointRequest extends HttpRequest<Caller> {
  readonly rules: EndpointRules;
}
