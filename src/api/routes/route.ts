import { createRoute, OpenAPIHono, type RouteConfig, z } from "@hono/zod-openapi";
import type { Scope } from "../../agent/caller.js";
import type { ApiEnv } from "../base/apiParts.js";
import { ApiProblem } from "../base/problems.js";
import { Problem } from "../schemas/common.js";

/** Problems that any route may answer with. */
const ANY_ROUTE = [400, 401, 403, 429, 503] as const;

const MEANINGS: Readonly<Record<number, string>> = {
  400: "The request cannot be understood.",
  401: "Who sends it is not known here.",
  403: "Whoever sends it may not do this: a scope, a ceiling or the origin.",
  404: "Nothing of that name, or nothing that is the caller's to see.",
  409: "Not as things are now.",
  413: "The body is too long.",
  415: "The body is not JSON.",
  422: "Understood, and it cannot be done.",
  429: "Too much at once.",
  501: "The engine cannot do this.",
  503: "Not now.",
  504: "No answer in time.",
};

function problemAnswer(status: number) {
  return { description: MEANINGS[status] ?? "Error", content: { "application/problem+json": { schema: Problem } } };
}

/** The answers of a route beside its good one. */
export function problems(...statuses: readonly number[]): Record<number, ReturnType<typeof problemAnswer>> {
  return Object.fromEntries([...ANY_ROUTE, ...statuses].map((status) => [status, problemAnswer(status)]));
}

export function json<Schema extends z.ZodType>(schema: Schema, description: string) {
  return { description, content: { "application/json": { schema } } };
}

export function body<Schema extends z.ZodType>(schema: Schema) {
  return { required: true, content: { "application/json": { schema } } };
}

/** A route that says which scope it needs; that the caller has it is checked by the agent, which knows the reason too. */
export function scoped<const Path extends string, Route extends Omit<RouteConfig, "path">>(
  scope: Scope | "none",
  route: Route & { path: Path },
) {
  return createRoute({ ...route, description: `Scope: ${scope === "none" ? "none" : `\`${scope}\``}.`, "x-scope": scope });
}

/** A group of routes, with one form for requests that cannot be understood. */
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
