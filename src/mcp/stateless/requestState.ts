import { createHash, createHmac, randomBytes, timingSafeEqual } from "node:crypto";

/** What a request state is valid for: the same call by the same principal. */
export interface Binding {
  /** Undefined on stdio, where the client belongs to the user. */
  readonly principal: string | undefined;
  readonly tool: string;
  readonly args: unknown;
}

export type Opened =
  | { readonly call: string }
  /** Issued before the server was restarted. */
  | "earlier-server"
  | "expired"
  | "invalid";

interface Payload {
  readonly call: string;
  readonly until: number;
}

/** Signs the states that clients carry between the rounds of a call. The key lives as long as the process, and so do the turns. */
export class RequestStates {
  readonly #key = randomBytes(32);
  readonly #server = randomBytes(8).toString("base64url");

  /** `until` is when the open questions expire; milliseconds since 1970. */
  seal(call: string, { until, ...binding }: Binding & { readonly until: number }): string {
    const payload = Buffer.from(JSON.stringify({ call, until } satisfies Payload)).toString("base64url");
    return `v1.${this.#server}.${payload}.${this.#sign(payload, binding).toString("base64url")}`;
  }

  open(state: string, binding: Binding, now = Date.now()): Opened {
    const [, server, payload = "", signature = ""] = /^v1\.([\w-]{11})\.([\w-]{1,200})\.([\w-]{43})$/.exec(state) ?? [];
    if (server === undefined) return "invalid";
    if (server !== this.#server) return "earlier-server";
    if (!timingSafeEqual(Buffer.from(signature, "base64url"), this.#sign(payload, binding))) return "invalid";
    // The signature is ours, so the content is too.
    const { call, until } = JSON.parse(Buffer.from(payload, "base64url").toString("utf8")) as Payload;
    return now > until ? "expired" : { call };
  }

  #sign(payload: string, { principal, tool, args }: Binding): Buffer {
    const bound = JSON.stringify([payload, principal ?? null, tool, digestOf(args)]);
    return createHmac("sha256", this.#key).update(bound).digest();
  }
}

/** A digest that does not depend on the order of keys. */
export function digestOf(args: unknown): string {
  return createHash("sha256")
    .update(JSON.stringify(inOrder(args)) ?? "")
    .digest("base64url");
}

function inOrder(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(inOrder);
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return { entries: entries.map(([key, held]) => [key, inOrder(held)]) };
}
