import { createRoute, OpenAPIHono, type RouteConfig, z } from "@hono/zod-openapi";
import type { MiddlewareHandler } from "hono";
import { checkScope, type Scope } from "../../agent/caller.js";
import type { ApiEnv } from "../base/apiParts.js";
import { ApiProblem } from "../base/problems.js";
import { Problem } from "../schemas/common.js";

/** Error statuses that any route may return. */
const ANY_ROUTE = [400, 401, 403, 429, 503] as const;

const MEANINGS: Readonly<Record<number, string>> = {
  400: "The request is invalid.",
  401: "The caller is not authenticated.",
  403: "The caller may not do this: a scope is missing, a limit is exceeded or the origin is wrong.",
  404: "It does not exist, or the caller may not see it.",
  409: "It conflicts with the current state.",
  413: "The body is too large.",
  415: "The body is not JSON.",
  422: "The request is valid but cannot be performed.",
  429: "Too many requests, or a limit is reached.",
  501: "The engine does not support this.",
  503: "Not now.",
  504: "The request timed out.",
};

function problemAnswer(status: number) {
  return { description: MEANINGS[status] ?? "Error", content: { "application/problem+json": { schema: Problem } } };
}

/** The error responses of a route. */
export function problems(...statuses: readonly number[]): Record<number, ReturnType<typeof problemAnswer>> {
  return Object.fromEntries([...ANY_ROUTE, ...statuses].map((status) => [status, problemAnswer(status)]));
}

export function json<Schema extends z.ZodType>(schema: Schema, description: string) {
  return { description, content: { "application/json": { schema } } };
}

export function body<Schema extends z.ZodType>(schema: Schema) {
  return { required: true, content: { "application/json": { schema } } };
}

/** A route with its required scope, which is checked before anything else of the request. */
export function scoped<const Path extends string, Route extends Omit<RouteConfig, "path">>(
  scope: Scope | "none",
  route: Route & { path: Path },
) {
  return createRoute({
    ...route,
    middleware: scope === "none" ? [] : [needs(scope)],
    description: `Scope: ${scope === "none" ? "none" : `\`${scope}\``}.`,
    "x-scope": scope,
  });
}

function needs(scope: Scope): MiddlewareHandler<ApiEnv> {
  return (c, next) => {
    checkScope(c.env.caller, scope);
    return next();
  };
}

/** A group of routes with a common error format for invalid requests. */
export function routes(): OpenAPIHono<ApiEnv> {
  return new OpenAPIHono<ApiEnv>({
    defaultHook: (result) => {
      if (result.success) return;
      const errors = result.error.issues.slice(0, 20).map(({ path, message }) => ({ path: path.join("."), message }));
      const [first] = errors;
      const where = first?.path ? `\`${first.path}\`: ` : "";
      throw new ApiProblem("invalid_request", `The request cannot be taken: ${where}${first?.message ?? "malformed"}`, { errors });
    },
  });
}

export const Limit = z.coerce.number().int().min(1).max(200);
export const Cursor = z.string().min(1).max(2_000);
