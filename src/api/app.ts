import { OpenAPIHono } from "@hono/zod-openapi";
import { HTTPException } from "hono/http-exception";
import { AppError } from "../lib/errors.js";
import type { ApiEnv, ApiParts } from "./base/apiParts.js";
import { API_PATH } from "./base/apiPath.js";
import { problem, problemOf } from "./base/problems.js";
import { approvalRoutes } from "./routes/approvals.js";
import { eventRoutes } from "./routes/events.js";
import { loginRoutes } from "./routes/login.js";
import { serverRoutes } from "./routes/server.js";
import { threadRoutes } from "./routes/threads.js";
import { turnRoutes } from "./routes/turns.js";
import type { TurnBook } from "./timeline/turnBook.js";

const PROBLEM_TYPE = "application/problem+json";
const RETRY_SECONDS = "5";

/** The API's routes, and the OpenAPI document that describes them. */
export function createApi(parts: ApiParts & { readonly book: TurnBook }) {
  const app = new OpenAPIHono<ApiEnv>()
    .basePath(API_PATH)
    .route("/", serverRoutes(parts))
    .route("/", threadRoutes(parts))
    .route("/", turnRoutes(parts))
    .route("/", approvalRoutes(parts))
    .route("/", eventRoutes(parts))
    .route("/", loginRoutes(parts));
  app.openAPIRegistry.registerComponent("securitySchemes", "bearer", { type: "http", scheme: "bearer" });
  app.openAPIRegistry.registerComponent("securitySchemes", "console", {
    type: "apiKey",
    in: "cookie",
    name: "codex-mcpd-PORT",
    description: "The cookie of a browser login. Requests that change something also need the server's own Origin.",
  });
  // The document never changes, and takes longer to make than most requests.
  let document: string | undefined;
  app.get("/openapi.json", (c) => {
    document ??= JSON.stringify(
      app.getOpenAPI31Document({
        openapi: "3.1.0",
        info: {
          title: "codex-mcpd",
          version: parts.version,
          description: "Threads, turns, approvals and events of a coding agent. See docs/api.md of the package.",
        },
        security: [{ bearer: [] }, { console: [] }, {}],
      }),
    );
    return c.body(document, 200, { "content-type": "application/json" });
  });
  app.notFound((c) => {
    const { method, path } = c.req;
    const methods = METHODS.filter((each) => app.router.match(each, path)[0].length > 0);
    if (methods.length === 0)
      return c.json(problem(404, "not_found", `Nothing is served at ${path}.`), 404, { "content-type": PROBLEM_TYPE });
    const told = problem(405, "method_not_allowed", `${path} is not served for ${method}, but for ${methods.join(", ")}.`);
    return c.json(told, 405, { "content-type": PROBLEM_TYPE, allow: methods.join(", ") });
  });
  app.onError((error, c) => {
    const told =
      error instanceof AppError
        ? problemOf(error)
        : error instanceof HTTPException
          ? problem(error.status, "invalid_request", error.message)
          : problem(500, "internal_error", parts.failed("a request to the API", error));
    const status = told.status as 400;
    return c.json(told, status, { "content-type": PROBLEM_TYPE, ...(status === RETRY_LATER && { "retry-after": RETRY_SECONDS }) });
  });
  return app;
}

const METHODS = ["GET", "POST", "PATCH", "DELETE"] as const;
const RETRY_LATER: number = 429;

/** For a typed client of the routes. */
export type Api = ReturnType<typeof createApi>;
