import { claimMeta } from "../clients/statelessClient.js";
import type { HttpQuestion } from "./httpClient.js";

type Json = Readonly<Record<string, unknown>>;

export interface StatelessQuestion {
  readonly method: string;
  readonly params?: Json;
  readonly capabilities?: Json;
  readonly id?: number | string;
  /** Overrides of the request's headers; an undefined one is left out. */
  readonly headers?: Readonly<Record<string, string | undefined>>;
  readonly meta?: Json;
}

const NAMED_BY: Readonly<Record<string, string>> = {
  "tools/call": "name",
  "tasks/get": "taskId",
  "tasks/update": "taskId",
  "tasks/cancel": "taskId",
};

/** A request of the era without sessions, with all required headers. */
export function stateless({ method, params = {}, capabilities, id = 1, headers = {}, meta = {} }: StatelessQuestion): HttpQuestion {
  const name = params[NAMED_BY[method] ?? ""];
  const all = {
    accept: "application/json, text/event-stream",
    "mcp-protocol-version": "2026-07-28",
    "mcp-method": method,
    "mcp-name": typeof name === "string" ? name : undefined,
    ...headers,
  };
  return {
    headers: Object.fromEntries(Object.entries(all).filter((entry): entry is [string, string] => entry[1] !== undefined)),
    message: { jsonrpc: "2.0", id, method, params: { ...params, _meta: { ...claimMeta(capabilities), ...meta } } },
  };
}

export function codexCall(args: Json, rest: Omit<StatelessQuestion, "method" | "params"> & { readonly params?: Json } = {}): HttpQuestion {
  const { params, ...question } = rest;
  return stateless({ ...question, method: "tools/call", params: { name: "codex", arguments: args, ...params } });
}
