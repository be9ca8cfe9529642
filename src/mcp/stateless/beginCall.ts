import type { Caller } from "../../agent/caller.js";
import type { Place } from "../../agent/turnLimiter.js";
import { invalidParams, RPC, RpcError } from "../../jsonrpc/errors.js";
import type { Fields } from "../../lib/fields.js";
import { readTraceContext } from "../../observability/traceContext.js";
import type { Call } from "../call.js";
import type { Objection } from "../inside.js";
import { takesPlace } from "../tools/catalog.js";
import type { ToolAction, ToolDeclaration, TurnCall } from "../tools/tool.js";
import { takesForms } from "./claim.js";
import type { StatelessRequest } from "./request.js";

export interface ToolParts {
  readonly tools: readonly ToolDeclaration[];
  /** Why nothing is started for a caller. Absent on a server that no turn started. */
  readonly objection?: Objection | undefined;
  readonly actions: () => Promise<ReadonlyMap<string, ToolAction>>;
  /** A place among the turns that may run at once. Absent where nobody is limited. */
  readonly enterTurn?: (caller: Caller, signal: AbortSignal) => Promise<Place>;
}

/** What a tool makes of a call: its answer, or the turn that will give it. */
export type Begun = { readonly result: Fields } | { readonly turnCall: TurnCall };

export async function beginCall(tool: string, request: StatelessRequest, parts: ToolParts): Promise<Begun> {
  if (!parts.tools.some(({ name }) => name === tool)) throw invalidParams(`Unknown tool: ${tool}`);
  const action = (await parts.actions()).get(tool);
  if (!action) throw new Error(`the tool ${tool} is listed but does nothing`);
  const { caller, signal } = request;
  const leave = caller && takesPlace(tool) ? await parts.enterTurn?.(caller, signal) : undefined;
  if (leave === "not wanted any more") throw cancelled();
  try {
    const outcome = await action(request.params["arguments"], callFrom(request));
    if (!("turn" in outcome)) {
      leave?.();
      return { result: { ...outcome } };
    }
    // The place is the turn's, however often its client goes and comes back. The outcome never rejects.
    void outcome.turn.outcome.then(leave);
    return { turnCall: outcome };
  } catch (error) {
    leave?.();
    throw error;
  }
}

/** Nobody reads it: the client has gone, or said that it does not wait any more. */
export function cancelled(): RpcError {
  return new RpcError(RPC.internalError, "The call was cancelled");
}

/** The call as tools know it. There is no way to ask its client in between. */
function callFrom({ id, params, signal, caller, claim, peer }: StatelessRequest): Call {
  return {
    requestId: id,
    signal,
    caller,
    progressToken: claim.progressToken,
    logLevel: () => claim.logLevel,
    peer: { ...peer, request: () => Promise.reject(new Error("clients of this era cannot be asked")) },
    canElicit: takesForms(claim),
    revision: undefined,
    trace: readTraceContext(params),
  };
}
