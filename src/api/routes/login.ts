import { type Caller, checkScope, hasScope } from "../../agent/caller.js";
import type { ApiParts } from "../base/apiParts.js";
import { ApiProblem } from "../base/problems.js";
import { LoginBody, LoginCode } from "../schemas/server.js";
import { body, json, problems, routes, scoped } from "./route.js";

const LOGIN = scoped("none", {
  method: "post",
  path: "/login",
  operationId: "login",
  summary: "Gives a browser its cookie: for a one-time code, or for the bearer token of this request",
  request: { body: body(LoginBody) },
  responses: { 204: { description: "The cookie is set." }, ...problems(413, 415) },
});
const LOGOUT = scoped("none", {
  method: "post",
  path: "/logout",
  operationId: "logout",
  summary: "Ends what the browser's cookie stands for",
  responses: { 204: { description: "The cookie is gone." }, ...problems() },
});
const NEW_CODE = scoped("manage", {
  method: "post",
  path: "/login/codes",
  operationId: "createLoginCode",
  summary: "The console's address with a fresh one-time code of the server's own user",
  responses: { 201: json(LoginCode, "The address."), ...problems(501) },
});

export function loginRoutes({ logins }: Pick<ApiParts, "logins">) {
  return routes()
    .openapi(LOGIN, (c) => {
      const { code } = c.req.valid("json");
      const { incoming } = c.env;
      const cookie = code === undefined ? logins.byToken(incoming) : logins.byCode(code, incoming);
      if (cookie === undefined)
        throw new ApiProblem(
          "login_refused",
          code === undefined
            ? "There is no code, and no token in the Authorization header."
            : "This code is wrong, was used before or is too old. The server prints a new one at its start; POST /api/v1/login/codes gives one to whoever is let in.",
        );
      return c.body(null, 204, { "set-cookie": cookie });
    })
    .openapi(LOGOUT, (c) => c.body(null, 204, { "set-cookie": logins.end(c.env.incoming) }))
    .openapi(NEW_CODE, (c) => {
      checkMayStandAsOwnUser(c.env.caller);
      const code = logins.newCode();
      if (!code) throw new ApiProblem("not_offered", "This server serves no console.");
      return c.json({ address: code.address, expiresAt: new Date(code.expiresAt).toISOString() }, 201);
    });
}

const OWN_USER = "local";

/** Whoever has the code is the server's own user: nobody else may have it, and nothing that runs inside a turn, whoever that turn is for. */
function checkMayStandAsOwnUser(caller: Caller): void {
  checkScope(caller, "manage");
  if (caller.inside || !(caller.principal === OWN_USER || hasScope(caller, "operator")))
    throw new ApiProblem("login_refused", "A code is for the user who started this server. Log in to the console with your own token.");
}
