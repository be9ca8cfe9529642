import type { SessionRules } from "../mcp/over/streamableHttp/findSession.js";
import type { StatelessRules } from "../mcp/over/streamableHttp/statelessPost.js";
import type { Visitor } from "./access/admission.js";

export interface EndpointRules extends SessionRules {
  readonly maxBodyBytes: number;
  readonly maxStreamsPerSession: number;
  readonly stateless: StatelessRules;
}

/** A request that the gate has let in, and what every answer to it must carry. */
export interface Visit {
  readonly visitor: Visitor;
  readonly headers: Readonly<Record<string, string>>;
}

/** One that is for the MCP endpoint. */
export interface EndpointVisit extends Visit {
  readonly rules: EndpointRules;
}
