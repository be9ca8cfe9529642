import { RpcError } from "../../../jsonrpc/errors.js";
import { deferred } from "../../../lib/promises.js";
import type { Account, AccountState, BrowserLogin, Credentials, DeviceCode, LoginEnd } from "../../../threads/engineServices.js";
import type { AppServer } from "../appServer/appServer.js";
import { CodexRefused, codexRefusal } from "../appServer/errors.js";
import { asFields, nonEmptyText } from "../appServer/read.js";
import type { Supervisor } from "../appServer/supervisor.js";
import { rateLimitsOf } from "../translate/notifications.js";

/** The login stored in CODEX_HOME, shared with every user of that Codex. */
export class CodexAccount implements Account {
  readonly #supervisor: () => Supervisor;
  #pending: PendingLogin | undefined;
  /** Serialises changes of the login. Never rejects. */
  #last: Promise<unknown> = Promise.resolve();

  constructor(supervisor: () => Supervisor) {
    this.#supervisor = supervisor;
  }

  async state(): Promise<AccountState> {
    try {
      return await this.#supervisor().lend(async ({ server }) => {
        const login = accountState(await server.request("account/read", { refreshToken: false }));
        return login.kind === "chatgpt" ? { ...login, ...(await limitsOf(server)) } : login;
      });
    } catch (error) {
      throw codexRefusal(error, "report who is logged in");
    }
  }

  loginWithKey(apiKey: string): Promise<void> {
    return this.#inTurn(async () => {
      try {
        await this.#ask("account/login/start", { type: "apiKey", apiKey });
      } catch (error) {
        throw codexRefusal(error, "accept the API key");
      }
    });
  }

  loginWithDeviceCode(): Promise<DeviceCode> {
    return this.#inTurn(() => this.#beginDeviceLogin(this.#supervisor()));
  }

  loginWithBrowser(): Promise<BrowserLogin> {
    return this.#inTurn(() => this.#beginBrowserLogin(this.#supervisor()));
  }

  async cancelLogin(id: string): Promise<boolean> {
    if (this.#pending?.id !== id || this.#pending.isOver) return false;
    await this.#pending.cancel();
    return true;
  }

  /** Codex still has one method of its older protocol that returns the secret; without that method, the secret is not available. */
  async credentials({ refresh }: { readonly refresh: boolean }): Promise<Credentials> {
    try {
      return await this.#supervisor().lend(async ({ server }) => {
        const read = asFields(await server.request("account/read", { refreshToken: refresh }));
        const { type, email } = asFields(read["account"]);
        const told = await server.request("getAuthStatus", { includeToken: true, refreshToken: refresh }).catch(tellingNothing);
        const { authMethod, authToken } = asFields(told);
        const method = methodNamed(nonEmptyText(authMethod) ?? nonEmptyText(type));
        const [token, address] = [nonEmptyText(authToken), nonEmptyText(email)];
        return {
          needsOpenai: read["requiresOpenaiAuth"] === true,
          ...(method !== undefined && { method }),
          ...(token !== undefined && { token }),
          ...(address !== undefined && { email: address }),
        };
      });
    } catch (error) {
      throw codexRefusal(error, "report who is logged in");
    }
  }

  logout(): Promise<void> {
    return this.#inTurn(async () => {
      try {
        await this.#ask("account/logout", undefined);
      } catch (error) {
        throw codexRefusal(error, "log out");
      }
    });
  }

  /** Cancels a pending login. */
  async close(): Promise<void> {
    await this.#pending?.cancel();
  }

  #ask(method: string, params: unknown): Promise<unknown> {
    return this.#supervisor().lend(({ server }) => server.request(method, params));
  }

  /** Each step cancels a pending login: there is only one account. */
  #inTurn<T>(step: () => Promise<T>): Promise<T> {
    const done = this.#last.then(async () => {
      await this.#pending?.cancel();
      this.#pending = undefined;
      return step();
    });
    this.#last = done.catch(() => undefined);
    return done;
  }

  async #beginBrowserLogin(supervisor: Supervisor): Promise<BrowserLogin> {
    return supervisor.lend(async ({ server }) => {
      const answer = await server.request("account/login/start", { type: "chatgpt" }).catch((error: unknown) => {
        throw codexRefusal(
          error,
          "begin a login",
          "Check that port 1455 of its machine is free, or log in with a device code or an API key.",
        );
      });
      const { loginId, authUrl } = asFields(answer);
      const [id, url] = [nonEmptyText(loginId), nonEmptyText(authUrl)];
      if (id === undefined || url === undefined)
        throw new CodexRefused(
          "Codex began a login without a URL: its version is newer than this server supports. Run `codex login` on its machine.",
        );
      const pending = new PendingLogin(server, { id, patienceMs: BROWSER_PATIENCE_MS });
      this.#pending = pending;
      supervisor.keepFor("login", async () => void (await pending.settled()));
      return { id, url, ended: pending.settled() };
    });
  }

  async #beginDeviceLogin(supervisor: Supervisor): Promise<DeviceCode> {
    return supervisor.lend(async ({ server }) => {
      const answer = await server.request("account/login/start", { type: "chatgptDeviceCode" }).catch(noCode);
      const { loginId, verificationUrl, userCode } = asFields(answer);
      const [id, url, code] = [nonEmptyText(loginId), nonEmptyText(verificationUrl), nonEmptyText(userCode)];
      if (id === undefined || url === undefined || code === undefined)
        throw new CodexRefused(
          "Codex began a login without a code: its version is newer than this server supports. Run `codex login` on its machine.",
        );
      const pending = new PendingLogin(server, { id, patienceMs: DEVICE_PATIENCE_MS });
      this.#pending = pending;
      supervisor.keepFor("login", async () => void (await pending.settled()));
      return { url, code };
    });
  }
}

/** Codex asks ChatGPT for them, which may be slow. */
const LIMITS_MS = 10_000;

/** Empty if Codex does not report limits; the account state is still returned. */
async function limitsOf(server: AppServer): Promise<Pick<AccountState, "limits">> {
  try {
    const answer = await server.request("account/rateLimits/read", undefined, { timeoutMs: LIMITS_MS });
    return { limits: { windows: rateLimitsOf(asFields(asFields(answer)["rateLimits"])), at: Date.now() } };
  } catch {
    return {};
  }
}

function noCode(error: unknown): never {
  const remedy = "Check that the machine of this server reaches auth.openai.com, or log in with an API key.";
  throw codexRefusal(error, "get a code for the login", remedy);
}

function accountState(answer: unknown): AccountState {
  const { account, requiresOpenaiAuth } = asFields(answer);
  const { type, email, planType } = asFields(account);
  const kind = nonEmptyText(type);
  if (kind === undefined) return requiresOpenaiAuth === true ? NOT_LOGGED_IN : { kind: "none", isNeeded: false };
  // Cloud providers have logins of their own, which are reported as keys.
  if (kind !== "chatgpt") return { kind: "apiKey", source: kind === "apiKey" ? "the login of Codex" : kind };
  const [address, plan] = [nonEmptyText(email), nonEmptyText(planType)];
  return { kind, ...(address === undefined ? {} : { email: address }), ...(plan === undefined ? {} : { plan }) };
}

const NOT_LOGGED_IN: AccountState = {
  kind: "none",
  isNeeded: true,
  remedy: "Log in with a device code or an API key, or run `codex login` on the machine of this server.",
};

function tellingNothing(error: unknown): undefined {
  if (!(error instanceof RpcError)) throw error;
  return undefined;
}

function methodNamed(word: string | undefined): Credentials["method"] {
  if (word === undefined) return undefined;
  return /^chatgpt/i.test(word) ? "chatgpt" : "apikey";
}

/** The codes are valid for a quarter of an hour. */
const DEVICE_PATIENCE_MS = 20 * 60_000;
/** As long as Codex itself waits for a browser. */
const BROWSER_PATIENCE_MS = 10 * 60_000;
const CANCEL_MS = 2_000;
const NOT_COMPLETED = "Login server error: Login was not completed";

/** A login that waits for its user. The process that started it must stay alive as long. */
class PendingLogin {
  readonly id: string;
  readonly #server: AppServer;
  readonly #patienceMs: number;
  readonly #over = deferred<LoginEnd>();
  #settled: Promise<LoginEnd> | undefined;
  #isOver = false;

  constructor(server: AppServer, { id, patienceMs }: { readonly id: string; readonly patienceMs: number }) {
    this.#server = server;
    this.id = id;
    this.#patienceMs = patienceMs;
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  /** How it ended: completed, cancelled, timed out, or Codex is gone. Never rejects. */
  settled(): Promise<LoginEnd> {
    this.#settled ??= this.#wait();
    return this.#settled;
  }

  /** Harmless after the end. */
  async cancel(): Promise<void> {
    // Whatever Codex responds, this login is no longer awaited.
    await this.#server.request("account/login/cancel", { loginId: this.id }, { timeoutMs: CANCEL_MS }).catch(() => undefined);
    this.#over.resolve({ success: false, error: NOT_COMPLETED });
  }

  async #wait(): Promise<LoginEnd> {
    const tooLate = setTimeout(() => this.#over.resolve({ success: false, error: "Login timed out" }), this.#patienceMs);
    const stopListening = this.#server.listenThreadless((method, params) => {
      const { loginId, success, error } = asFields(params);
      if (method !== "account/login/completed" || loginId !== this.id) return;
      this.#over.resolve(success === true ? { success } : { success: false, error: nonEmptyText(error) ?? NOT_COMPLETED });
    });
    const gone = this.#server.gone.then((): LoginEnd => ({ success: false, error: "Codex ended before the login was completed" }));
    try {
      return await Promise.race([this.#over.promise, gone]);
    } finally {
      this.#isOver = true;
      clearTimeout(tooLate);
      stopListening();
    }
  }
}
