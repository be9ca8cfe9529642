import { createHash, randomUUID } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import { bodyOf, startLoopback } from "../http/loopback.js";

/** The part of an identity server that a login of Codex needs: authorization with PKCE, tokens, their renewal and their end. */
export interface IdentityServer extends AsyncDisposable {
  /** The settings with which Codex logs in here. */
  readonly env: Readonly<Record<string, string>>;
  /** The config.toml of a Codex that asks here, and not ChatGPT, about its account. */
  readonly config: string;
  /** Every token that it gave. */
  readonly secrets: readonly string[];
  /** Its requests in order: the last part of each path, and the kind of each grant. */
  readonly asked: readonly string[];
  /** The user's browser: opens the address, consents, and follows redirects. Returns the last response. */
  consent(authUrl: string): Promise<Response>;
}

const CLIENT_ID = "codex-under-test";
const ACCOUNT = "account-1";
export const EMAIL = "ann@example.org";

/** The workspaces of the user: at the end of a login Codex asks for the address of its token's workspace, which must be HTTPS. No server listens there. */
const ACCOUNTS = {
  accounts: [
    {
      id: ACCOUNT,
      can_access_with_session: true,
      is_deactivated: false,
      plan_type: "plus",
      structure: "personal",
      workspace_backend_origin: "https://backend.invalid",
      account_routing_override: "NO_CONSTRAINT",
    },
  ],
  default_account_id: ACCOUNT,
  account_ordering: [ACCOUNT],
};

export async function startIdentityServer(): Promise<IdentityServer> {
  const secrets: string[] = [];
  const asked: string[] = [];
  /** The PKCE challenge and the redirect address of each code that was not used yet. */
  const codes = new Map<string, { readonly challenge: string; readonly redirect: string }>();

  const tokens = () => {
    const given = { id_token: idToken(), access_token: idToken(), refresh_token: `refresh-${randomUUID()}` };
    secrets.push(...Object.values(given));
    return given;
  };

  const authorize = (query: URLSearchParams, response: ServerResponse) => {
    const [challenge, redirect] = [query.get("code_challenge"), query.get("redirect_uri")];
    const isMeant = query.get("response_type") === "code" && query.get("client_id") === CLIENT_ID;
    if (!isMeant || query.get("code_challenge_method") !== "S256" || challenge === null || redirect === null)
      return void response.writeHead(400).end("invalid_request");
    const code = `code-${randomUUID()}`;
    codes.set(code, { challenge, redirect });
    const back = new URL(redirect);
    back.search = new URLSearchParams({ code, state: query.get("state") ?? "" }).toString();
    response.writeHead(302, { location: back.href }).end();
  };

  const grant = async (request: IncomingMessage, response: ServerResponse) => {
    const form = fieldsIn(await bodyOf(request), request.headers["content-type"]);
    asked.push(String(form["grant_type"]));
    const code = codes.get(String(form["code"]));
    codes.delete(String(form["code"]));
    const isRefresh = form["grant_type"] === "refresh_token" && secrets.includes(String(form["refresh_token"]));
    const isProven = code?.challenge === challengeOf(String(form["code_verifier"])) && code.redirect === form["redirect_uri"];
    if (isProven || isRefresh) return answer(response, 200, tokens());
    answer(response, 400, { error: "invalid_grant" });
  };

  const server = await startLoopback(async (request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? "", "http://here");
    if (pathname === "/oauth/token") return grant(request, response);
    asked.push(pathname.replace(/^.*\//, ""));
    if (pathname === "/oauth/authorize") return authorize(searchParams, response);
    if (pathname === "/backend-api/wham/accounts/check") return answer(response, 200, ACCOUNTS);
    answer(response, pathname === "/oauth/revoke" ? 200 : 404, {});
  });

  return {
    config: `chatgpt_base_url = "${server.origin}/backend-api"\n`,
    env: {
      CODEX_APP_SERVER_LOGIN_ISSUER: server.origin,
      CODEX_APP_SERVER_LOGIN_CLIENT_ID: CLIENT_ID,
      CODEX_REFRESH_TOKEN_URL_OVERRIDE: `${server.origin}/oauth/token`,
      CODEX_REVOKE_TOKEN_URL_OVERRIDE: `${server.origin}/oauth/revoke`,
      NO_PROXY: "127.0.0.1,localhost",
    },
    secrets,
    asked,
    consent: (authUrl) => fetch(authUrl, { redirect: "follow" }),
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}

/** Looks like a signed token: Codex reads the claims and does not check the signature. */
function idToken(): string {
  const part = (value: unknown) => Buffer.from(JSON.stringify(value)).toString("base64url");
  const claims = {
    email: EMAIL,
    exp: Math.floor(Date.now() / 1_000) + 3_600,
    jti: randomUUID(),
    "https://api.openai.com/auth": { chatgpt_plan_type: "plus", chatgpt_account_id: ACCOUNT, chatgpt_user_id: "user-1" },
  };
  return [part({ alg: "RS256", typ: "JWT" }), part(claims), part("signature")].join(".");
}

function challengeOf(verifier: string): string {
  return createHash("sha256").update(verifier).digest("base64url");
}

function fieldsIn(body: string, type: string | undefined): Readonly<Record<string, unknown>> {
  if (type?.startsWith("application/json")) return JSON.parse(body) as Record<string, unknown>;
  return Object.fromEntries(new URLSearchParams(body));
}

function answer(response: ServerResponse, status: number, value: unknown): void {
  response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(value));
}
