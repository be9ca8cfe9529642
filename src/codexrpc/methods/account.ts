import * as z from "zod/mini";
import { defineMethod, type MethodClient } from "../surface/method.js";
import { failing, notFound } from "../surface/refusals.js";
import { optional, Words } from "../surface/shapes.js";

/** Told to every client that may manage the server: there is one login for all of them. */
function tellStatus(client: MethodClient, authMethod?: "apikey" | "chatgpt"): void {
  client.tellAll("authStatusChange", authMethod === undefined ? {} : { authMethod });
}

export const loginApiKey = defineMethod({
  name: "loginApiKey",
  scope: "manage",
  params: z.object({ apiKey: Words }),
  about:
    "Logs the server in with an API key, which is kept in `auth.json` of CODEX_HOME (mode 0600). It ends a login that waits. The key is never shown and never logged.",
  answers: "`{}`; then `authStatusChange`.",
  errors: ["`-32603` `failed to save api key: …`"],
  example: [
    { id: 16, method: "loginApiKey", params: { apiKey: "sk-…" } },
    { id: 16, result: {} },
    { method: "authStatusChange", params: { authMethod: "apikey" } },
  ],
  async call({ apiKey }, { agent, ask, client, afterwards }) {
    await failing("failed to save api key", agent.login(ask, apiKey));
    afterwards(() => tellStatus(client, "apikey"));
    return {};
  },
});

export const loginChatGpt = defineMethod({
  name: "loginChatGpt",
  scope: "manage",
  params: z.object({}),
  about:
    "Begins a login with ChatGPT by the app-server of the installed Codex (engine `codex`). The user opens `authUrl` in a browser on the machine of the server, which it leads back to. Another login ends this one; " +
    "one that nobody completes ends after ten minutes. It goes on when the client goes. Other engines refuse it and say what to do.",
  answers: "`loginId`, `authUrl`; later `loginChatGptComplete` and, when it was done, `authStatusChange`.",
  errors: ["`-32603` `failed to start login server: …`"],
  example: [
    { id: 17, method: "loginChatGpt" },
    { id: 17, result: { loginId: "5a0f…", authUrl: "https://…/oauth/authorize?response_type=code&…" } },
    { method: "loginChatGptComplete", params: { loginId: "5a0f…", success: true } },
    { method: "authStatusChange", params: { authMethod: "chatgpt" } },
  ],
  async call(_, { agent, ask, client, afterwards }) {
    const { id: loginId, url, ended } = await failing("failed to start login server", agent.loginWithBrowser(ask));
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
  about: "Ends a login that waits for its user.",
  answers: "`{}`; whoever began the login is told by `loginChatGptComplete`.",
  errors: ["`-32600` `login id not found: {id}`: it is over, or there was none"],
  example: [
    { id: 18, method: "cancelLoginChatGpt", params: { loginId: "5a0f…" } },
    { id: 18, result: {} },
    { method: "loginChatGptComplete", params: { loginId: "5a0f…", success: false, error: "Login server error: Login was not completed" } },
  ],
  async call({ loginId }, { agent, ask }) {
    if (!(await agent.cancelLogin(ask, loginId))) throw notFound("login id", loginId);
    return {};
  },
});

export const logoutChatGpt = defineMethod({
  name: "logoutChatGpt",
  scope: "manage",
  params: z.object({}),
  about:
    "Takes the login away, whichever kind it is, for everybody on this server. The native engine leaves a ChatGPT login to Codex and says so.",
  answers: "`{}`; then `authStatusChange`.",
  errors: ["`-32603` `logout failed: …`"],
  example: [
    { id: 20, method: "logoutChatGpt" },
    { id: 20, result: {} },
    { method: "authStatusChange", params: {} },
  ],
  async call(_, { agent, ask, client, afterwards }) {
    await failing("logout failed", agent.logout(ask));
    afterwards(() => tellStatus(client));
    return {};
  },
});

export const getAuthStatus = defineMethod({
  name: "getAuthStatus",
  scope: "manage",
  params: z.object({ includeToken: optional(z.boolean()), refreshToken: optional(z.boolean()) }),
  about:
    "How the server is logged in. The key or access token is told only where `includeToken` asks for it; over the network that needs the scope `operator`. `refreshToken` has Codex renew a ChatGPT login first.",
  answers:
    "`requiresOpenaiAuth`; where that is true and somebody is logged in, `authMethod` (`apikey` or `chatgpt`) and, if asked for, `authToken`.",
  errors: ["`-32600` when the token is asked for without the scope `operator`"],
  example: [
    { id: 19, method: "getAuthStatus", params: { includeToken: true, refreshToken: false } },
    { id: 19, result: { authMethod: "apikey", authToken: "sk-…", requiresOpenaiAuth: true } },
  ],
  async call({ includeToken = false, refreshToken = false }, { agent, ask }) {
    const { needsOpenai, method, token } = await agent.credentials(ask, { refresh: refreshToken, withToken: includeToken });
    if (!needsOpenai || method === undefined) return { requiresOpenaiAuth: needsOpenai };
    return { authMethod: method, ...(token !== undefined && { authToken: token }), requiresOpenaiAuth: true };
  },
});

export const userInfo = defineMethod({
  name: "userInfo",
  scope: "manage",
  params: z.object({}),
  about: "The address that the login says its user has. Nobody has checked it.",
  answers: "`allegedUserEmail`, or null.",
  errors: [],
  example: [
    { id: 15, method: "userInfo" },
    { id: 15, result: { allegedUserEmail: null } },
  ],
  async call(_, { agent, ask }) {
    const { email } = await agent.credentials(ask, { refresh: false, withToken: false });
    return { allegedUserEmail: email ?? null };
  },
});
