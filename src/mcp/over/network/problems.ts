import { HttpProblem } from "../../../http/problem.js";
import { RPC, RpcError } from "../../../jsonrpc/errors.js";
import { errorText, type RequestId } from "../../../jsonrpc/message.js";

/** The error codes of failures before a message reaches its session. */
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

/** A request that fails before it reaches its session, with the JSON-RPC error to send. */
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

/** For ids that are unknown, ended or another caller's: the client cannot tell which. */
export function sessionOver(id?: RequestId): RpcProblem {
  return new RpcProblem({ status: 404, code: HTTP_RPC.sessionNotFound, message: "Session not found", id: id ?? null });
}

/** Any problem as the error of a JSON-RPC response. */
export function rpcProblemText(problem: HttpProblem): string {
  if (problem instanceof RpcProblem) return errorText(problem.id, problem.rpc);
  return errorText(null, new RpcError(problem.status === 500 ? RPC.internalError : HTTP_RPC.refused, problem.message));
}
