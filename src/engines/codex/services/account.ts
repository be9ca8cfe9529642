import { deferred } from "../../../lib/promises.js";
import type { Account, AccountState, DeviceCode } from "../../../threads/engineServices.js";
import type { AppServer } from "../appServer/appServer.js";
import { CodexRefused, codexRefusal } from "../appServer/errors.js";
import { asFields, nonEmptyText } from "../appServer/read.js";
import type { Supervisor } from "../appServer/supervisor.js";
import { rateLimitsOf } from "../translate/notifications.js";

/** The login that Codex keeps in its home, shared with everybody who uses Codex there. */
export class CodexAccount implements Account {
  readonly #supervisor: () => Supervisor;
  #pending: PendingLogin | undefined;
  /** What changes the login happens one after the other. Never rejects. */
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
      throw codexRefusal(error, "tell who is logged in");
    }
  }

  loginWithKey(apiKey: string): Promise<void> {
    return this.#inTurn(async () => {
      try {
        await this.#ask("account/login/start", { type: "apiKey", apiKey });
      } catch (error) {
        throw codexRefusal(error, "take the API key");
      }
    });
  }

  loginWithDeviceCode(): Promise<DeviceCode> {
    return this.#inTurn(() => this.#beginDeviceLogin(this.#supervisor()));
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

  /** Ends a login that nobody has completed. */
  async close(): Promise<void> {
    await this.#pending?.cancel();
  }

  #ask(method: string, params: unknown): Promise<unknown> {
    return this.#supervisor().lend(({ server }) => server.request(method, params));
  }

  /** Each step ends a login that is still waiting: there is one account. */
  #inTurn<T>(step: () => Promise<T>): Promise<T> {
    const done = this.#last.then(async () => {
      await this.#pending?.cancel();
      this.#pending = undefined;
      return step();
    });
    this.#last = done.catch(() => undefined);
    return done;
  }

  async #beginDeviceLogin(supervisor: Supervisor): Promise<DeviceCode> {
    return supervisor.lend(async ({ server }) => {
      const answer = await server.request("account/login/start", { type: "chatgptDeviceCode" }).catch(noCode);
      const { loginId, verificationUrl, userCode } = asFields(answer);
      const [id, url, code] = [nonEmptyText(loginId), nonEmptyText(verificationUrl), nonEmptyText(userCode)];
      if (id === undefined || url === undefined || code === undefined)
        throw new CodexRefused("Codex began a login without a code: it is newer than this server knows. Run `codex login` on its machine.");
      const pending = new PendingLogin(server, id);
      this.#pending = pending;
      supervisor.keepFor("login", () => pending.settled());
      return { url, code };
    });
  }
}

/** Codex asks ChatGPT for them, which takes as long as that takes. */
const LIMITS_MS = 10_000;

/** Nothing where Codex does not tell: whoever asks who is logged in gets that all the same. */
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
  // Clouds have logins of their own, which are keys of a kind.
  if (kind !== "chatgpt") return { kind: "apiKey", source: kind === "apiKey" ? "the login of Codex" : kind };
  const [address, plan] = [nonEmptyText(email), nonEmptyText(planType)];
  return { kind, ...(address === undefined ? {} : { email: address }), ...(plan === undefined ? {} : { plan }) };
}

const NOT_LOGGED_IN: AccountState = {
  kind: "none",
  isNeeded: true,
  remedy: "Log in with a device code or an API key, or run `codex login` on the machine of this server.",
};

/** The codes are valid for a quarter of an hour. */
const PATIENCE_MS = 20 * 60_000;
const CANCEL_MS = 2_000;

/** A login that waits until its user has typed the code. The process that asked for the code must live as long. */
class PendingLogin {
  readonly #server: AppServer;
  readonly #loginId: string;
  readonly #over = deferred<void>();

  constructor(server: AppServer, loginId: string) {
    this.#server = server;
    this.#loginId = loginId;
  }

  /** Resolves when nobody waits for it any more: it is done, cancelled or too late, or Codex is gone. Never rejects. */
  async settled(): Promise<void> {
    const tooLate = setTimeout(() => this.#over.resolve(), PATIENCE_MS);
    const stopListening = this.#server.listenThreadless((method, params) => {
      if (method === "account/login/completed" && asFields(params)["loginId"] === this.#loginId) this.#over.resolve();
    });
    try {
      await Promise.race([this.#over.promise, this.#server.gone]);
    } finally {
      clearTimeout(tooLate);
      stopListening();
    }
  }

  /** Harmless when it is over. */
  async cancel(): Promise<void> {
    // Whatever Codex answers, nobody waits for this login any more.
    await this.#server.request("account/login/cancel", { loginId: this.#loginId }, { timeoutMs: CANCEL_MS }).catch(() => undefined);
    this.#over.resolve();
  }
}
