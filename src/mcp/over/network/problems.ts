import { HttpProblem } from "../../../http/problem.js";
import { RPC, RpcError } from "../../../jsonrpc/errors.js";
import { errorText, type RequestId } from "../../../jsonrpc/message.js";

/** The codes of what goes wrong before a message reaches its session. */
export const HTTP_RPC = { refused: -32000, sessionNotFound: -32001, versionNotServed: -32022 } as const;

export interface RpcProblemOptions {
  readonly status: number;
  readonly code: number;
  readonly message: string;
  /** The error's `data`. */
  readonly extra?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  readonly id?: RequestId | null;
}

/** A request that ends before its session has seen it, with the JSON-RPC error that says why. */
export class RpcProblem extends HttpProblem {
  override readonly name = "RpcProblem";
  readonly rpc: RpcError;
  readonly id: RequestId | null;

  constructor({ status, code, message, extra, headers, id = null }: RpcProblemOptions) {
    super(status, message, headers);
    this.rpc = new RpcError(code, message, extra);
    this.id = id;
  }
}

/** For ids that are unknown, over, or somebody else's: nobody learns which. */
export function sessionOver(id?: RequestId): RpcProblem {
  return new RpcProblem({ status: 404, code: HTTP_RPC.sessionNotFound, message: "Session not found", id: id ?? null });
}

/** Every problem as a client of MCP reads it: the error of a JSON-RPC response. */
export function rpcProblemText(problem: HttpProblem): string {
  if (problem instanceof RpcProblem) return errorText(problem.id, problem.rpc);
  return errorText(null, new RpcError(problem.status === 500 ? RPC.internalError : HTTP_RPC.refused, problem.message));
}
