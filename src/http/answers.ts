import type { ServerResponse } from "node:http";
import { RpcError } from "../jsonrpc/errors.js";
import { errorText, type RequestId } from "../jsonrpc/message.js";

export interface AnswerOptions {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
}

export function sendJson(response: ServerResponse, text: string, { status, headers = {} }: AnswerOptions): void {
  const own = { "content-type": "application/json", "content-length": Buffer.byteLength(text) };
  response.writeHead(status, withHeaders(own, headers)).end(text);
}

/** There is nobody to send anything to any more. */
export function isGone({ destroyed, closed }: ServerResponse): boolean {
  return destroyed || closed;
}

/** For every answer there is. A spread would be slower by more than all else that is done with headers. */
export function withHeaders<T extends object>(own: T, also: Readonly<Record<string, string>>): T {
  return Object.assign(own, also);
}

export function sendNothing(response: ServerResponse, { status, headers = {} }: AnswerOptions): void {
  response.writeHead(status, { ...headers, ...(status === 204 ? {} : { "content-length": 0 }) }).end();
}

/** The codes of what goes wrong before a message reaches its session. */
export const HTTP_RPC = { refused: -32000, sessionNotFound: -32001, versionNotServed: -32022 } as const;

/** For ids that are unknown, over, or somebody else's: nobody learns which. */
export const SESSION_OVER = { status: 404, code: HTTP_RPC.sessionNotFound, message: "Session not found" } as const;

/** A request that ends here, with its status and the JSON-RPC error that says why. */
export class HttpRefusal extends Error {
  override readonly name = "HttpRefusal";
  readonly status: number;
  readonly rpc: RpcError;
  readonly headers: Readonly<Record<string, string>>;
  readonly id: RequestId | null;

  constructor(options: {
    readonly status: number;
    readonly code: number;
    readonly message: string;
    readonly extra?: unknown;
    readonly headers?: Readonly<Record<string, string>>;
    readonly id?: RequestId | null;
  }) {
    super(options.message);
    this.status = options.status;
    this.rpc = new RpcError(options.code, options.message, options.extra);
    this.headers = options.headers ?? {};
    this.id = options.id ?? null;
  }
}

export function sendRefusal(
  response: ServerResponse,
  { status, rpc, headers, id }: HttpRefusal,
  also: Readonly<Record<string, string>>,
): void {
  sendJson(response, errorText(id, rpc), { status, headers: { ...also, ...headers } });
}
