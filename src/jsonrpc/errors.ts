/** The JSON-RPC codes we send. */
export const RPC = {
  parseError: -32700,
  invalidRequest: -32600,
  methodNotFound: -32601,
  invalidParams: -32602,
  internalError: -32603,
  /** Implementation-defined: the server is busy. */
  busy: -32000,
} as const;

/** An error that is sent as a JSON-RPC error. Anything else that a method throws becomes `internalError`. */
export class RpcError extends Error {
  override readonly name = "RpcError";

  constructor(
    readonly code: number,
    message: string,
    readonly extra?: unknown,
  ) {
    super(message);
  }
}

export function methodNotFound(method: string): RpcError {
  return new RpcError(RPC.methodNotFound, `method not found: ${method}`, { method });
}

export function invalidParams(message: string): RpcError {
  return new RpcError(RPC.invalidParams, message);
}
