import * as z from "zod/mini";
import { defineMethod, type MethodClient } from "../surface/method.js";
import { failing, notFound } from "../surface/refusals.js";
import { optional, Words } from "../surface/shapes.js";

/** Notifies every client with `manage`: all of them share one login. */
function tellStatus(client: MethodClient, authMethod?: "apikey" | "chatgpt"): void {
  client.notifyAll("authStatusChange", authMethod === undefined ? {} : { authMethod });
}

export const loginApiKey = defineMethod({
  name: "loginApiKey",
  scope: "manage",
  params: z.object({ apiKey: Words }),
  about:
    "Logs the server in with an API key, which is kept in `auth.json` of CODEX_HOME (mode 0600). It cancels a pending login. The key is never shown and never logged.",
  answers: "`{}`; then `authStatusChange`.",
  errors: ["`-32603` `failed to save api key: …`"],
  example: [
    { id: 16, method: "loginApiKey", params: { apiKey: "sk-…" } },
    { id: 16, result: {} },
    { method: "authStatusChange", params: { authMethod: "apikey" } },
  ],
  async call({ apiKey }, { agent, ask, client, afterwards }) {
    await failing("failed to save api key", agent.server.login(ask, apiKey));
    afterwards(() => tellStatus(client, "apikey"));
    return {};
  },
});

export const loginChatGpt = defineMethod({
  name: "loginChatGpt",
  scope: "manage",
  params: z.object({}),
  about:
    "Starts a login with ChatGPT through the app-server of the installed Codex (engine `codex`). The user opens `authUrl` in a browser on the server's machine, because the login redirects there. Another login cancels this one; " +
    "an incomplete one ends after ten minutes. It continues after the client has disconnected. Other engines refuse it and say what to do.",
  answers: "`loginId`, `authUrl`; later `loginChatGptComplete` and, if the login succeeded, `authStatusChange`.",
  errors: ["`-32603` `failed to start login server: …`"],
  example: [
    { id: 17, method: "loginChatGpt" },
    { id: 17, result: { loginId: "5a0f…", authUrl: "https://…/oauth/authorize?response_type=code&…" } },
    { method: "loginChatGptComplete", params: { loginId: "5a0f…", success: true } },
    { method: "authStatusChange", params: { authMethod: "chatgpt" } },
  ],
  async call(_, { agent, ask, client, afterwards }) {
    const { id: loginId, url, ended } = await failing("failed to start login server", agent.server.loginWithBrowser(ask));
    afterwards(() => {
      // Never rejects.
      void ended.then((end) => {
        client.notify("loginChatGptComplete", { loginId, ...end });
        if (end.success) tellStatus(client, "chatgpt");
      });
    });
    return { loginId, authUrl: url };
  },
});

export const cancelLoginChatGpt = defineMethod({
  name: "cancelLoginChatGpt",
  scope: "manage",
  params: z.object({ loginId: Words }),
  about: "Cancels a pending login.",
  answers: "`{}`; the client that started the login gets `loginChatGptComplete`.",
  errors: ["`-32600` `login id not found: {id}`: it has ended, or never existed"],
  example: [
    { id: 18, method: "cancelLoginChatGpt", params: { loginId: "5a0f…" } },
    { id: 18, result: {} },
    { method: "loginChatGptComplete", params: { loginId: "5a0f…", success: false, error: "Login server error: Login was not completed" } },
  ],
  async call({ loginId }, { agent, ask }) {
    if (!(await agent.server.cancelLogin(ask, loginId))) throw notFound("login id", loginId);
    return {};
  },
});

export const logoutChatGpt = defineMethod({
  name: "logoutChatGpt",
  scope: "manage",
  params: z.object({}),
  about:
    "Removes the login of any kind, for everyone on this server. The native engine does not remove a ChatGPT login, which belongs to Codex, and says so.",
  answers: "`{}`; then `authStatusChange`.",
  errors: ["`-32603` `logout failed: …`"],
  example: [
    { id: 20, method: "logoutChatGpt" },
    { id: 20, result: {} },
    { method: "authStatusChange", params: {} },
  ],
  async call(_, { agent, ask, client, afterwards }) {
    await failing("logout failed", agent.server.logout(ask));
    afterwards(() => tellStatus(client));
    return {};
  },
});

export const getAuthStatus = defineMethod({
  name: "getAuthStatus",
  scope: "manage",
  params: z.object({ includeToken: optional(z.boolean()), refreshToken: optional(z.boolean()) }),
  about:
    "How the server is logged in. The key or access token is included only if `includeToken` is set; over the network that needs the scope `operator`. With `refreshToken`, Codex renews a ChatGPT login first.",
  answers:
    "`requiresOpenaiAuth`; if that is true and the server is logged in, `authMethod` (`apikey` or `chatgpt`) and, on request, `authToken`.",
  errors: ["`-32600` if the token is requested without the scope `operator`"],
  example: [
    { id: 19, method: "getAuthStatus", params: { includeToken: true, refreshToken: false } },
    { id: 19, result: { authMethod: "apikey", authToken: "sk-…", requiresOpenaiAuth: true } },
  ],
  async call({ includeToken = false, refreshToken = false }, { agent, ask }) {
    const { needsOpenai, method, token } = await agent.server.credentials(ask, { refresh: refreshToken, withToken: includeToken });
    if (!needsOpenai || method === undefined) return { requiresOpenaiAuth: needsOpenai };
    return { authMethod: method, ...(token !== undefined && { authToken: token }), requiresOpenaiAuth: true };
  },
});

export const userInfo = defineMethod({
  name: "userInfo",
  scope: "manage",
  params: z.object({}),
  about: "The e-mail address in the login. It is not verified.",
  answers: "`allegedUserEmail`, or null.",
  errors: [],
  example: [
    { id: 15, method: "userInfo" },
    { id: 15, result: { allegedUserEmail: null } },
  ],
  async call(_, { agent, ask }) {
    const { email } = await agent.server.credentials(ask, { refresh: false, withToken: false });
    return { allegedUserEmail: email ?? null };
  },
});
