import { RpcError } from "../../jsonrpc/errors.js";

/** The codes that 2026-07-28 defines. */
export const STATELESS_RPC = { headerMismatch: -32020, missingCapability: -32021, unsupportedVersion: -32022 } as const;

export function headerMismatch(message: string): RpcError {
  return new RpcError(STATELESS_RPC.headerMismatch, message);
}

export function missingCapability(message: string, requiredCapabilities: Readonly<Record<string, unknown>>): RpcError {
  return new RpcError(STATELESS_RPC.missingCapability, message, { requiredCapabilities });
}

export function unsupportedVersion(requested: string, supported: readonly string[]): RpcError {
  return new RpcError(STATELESS_RPC.unsupportedVersion, `Unsupported protocol version: ${requested.slice(0, 40)}`, {
    supported,
    requested,
  });
}
