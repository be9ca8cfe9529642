import { type Caller, hasScope } from "../../agent/caller.js";
import type { ApiParts } from "../base/apiParts.js";
import { ApiProblem } from "../base/problems.js";
import { LoginBody, LoginCode } from "../schemas/server.js";
import { body, json, problems, routes, scoped } from "./route.js";

const LOGIN = scoped("none", {
  method: "post",
  path: "/login",
  operationId: "login",
  summary: "Sets a browser's cookie, for a one-time code or for the bearer token of this request",
  request: { body: body(LoginBody) },
  responses: { 204: { description: "The cookie is set." }, ...problems(413, 415) },
});
const LOGOUT = scoped("none", {
  method: "post",
  path: "/logout",
  operationId: "logout",
  summary: "Ends the browser's login",
  responses: { 204: { description: "The cookie is deleted." }, ...problems() },
});
const NEW_CODE = scoped("manage", {
  method: "post",
  path: "/login/codes",
  operationId: "createLoginCode",
  summary: "The console's URL with a new one-time code for the server's own user",
  responses: { 201: json(LoginCode, "The address."), ...problems(501) },
});

export function loginRoutes({ logins }: Pick<ApiParts, "logins">) {
  return routes()
    .openapi(LOGIN, async (c) => {
      const { code } = c.req.valid("json");
      const { incoming, caller } = c.env;
      const cookie = await (code === undefined ? logins.byToken(incoming, caller.principal) : logins.byCode(code, incoming));
      if (cookie === undefined)
        throw new ApiProblem(
          "login_refused",
          code === undefined
            ? "The request has neither a code nor a token in the Authorization header."
            : "This code is invalid, was already used or has expired. The server prints a new one when it starts; POST /api/v1/login/codes returns one to a caller who is logged in.",
        );
      return c.body(null, 204, { "set-cookie": cookie });
    })
    .openapi(LOGOUT, (c) => c.body(null, 204, { "set-cookie": logins.end(c.env.incoming) }))
    .openapi(NEW_CODE, (c) => {
      checkMayStandAsOwnUser(c.env.caller);
      const code = logins.newCode();
      if (!code) throw new ApiProblem("not_offered", "This server does not serve a console.");
      return c.json({ address: code.address, expiresAt: new Date(code.expiresAt).toISOString() }, 201);
    });
}

const OWN_USER = "local";

/** A browser that sends the code acts as the server's own user. So only this user and operators may get a code, and never a program inside a turn. */
function checkMayStandAsOwnUser(caller: Caller): void {
  if (caller.inside || !(caller.principal === OWN_USER || hasScope(caller, "operator")))
    throw new ApiProblem(
      "login_refused",
      "One-time codes are for the user who started this server. Log in to the console with your own token.",
    );
}
