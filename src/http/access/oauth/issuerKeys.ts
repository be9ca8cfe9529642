import { describe } from "../../../lib/errors.js";
import { Tasks } from "../../../lib/promises.js";

export interface IssuerKeysOptions<Keys> {
  readonly load: (signal: AbortSignal) => Promise<Keys>;
  readonly report: (line: string) => void;
  readonly now: () => number;
}

/** The age at which keys are reloaded. */
const RENEW_AFTER_MS = 10 * 60_000;
/** Tokens with unknown keys must not cause a reload each. */
const ASK_AGAIN_AFTER_MS = 30_000;
/** The retry interval while there are no keys at all, because every request waits for them. */
const RETRY_AFTER_MS = 5_000;

/** An issuer's keys. Loaded keys stay in use until newer ones are available, so that an issuer that is down locks nobody out. */
export class IssuerKeys<Keys> {
  readonly #options: IssuerKeysOptions<Keys>;
  #held: { readonly keys: Keys; readonly loadedAt: number } | undefined;
  #loading: Promise<Keys> | undefined;
  #lastTry: { readonly at: number; readonly failure?: unknown } | undefined;
  readonly #closing = new AbortController();
  readonly #renewals: Tasks;

  constructor(options: IssuerKeysOptions<Keys>) {
    this.#options = options;
    this.#renewals = new Tasks((name, error) => options.report(`${name}: ${describe(error)}`));
  }

  /** Rejects only if no keys were ever loaded. */
  async current(): Promise<Keys> {
    const { now } = this.#options;
    if (this.#held === undefined) return this.#triedWithin(RETRY_AFTER_MS) ? this.#asBefore() : this.#load();
    const old = now() - this.#held.loadedAt > RENEW_AFTER_MS;
    if (old && !this.#triedWithin(ASK_AGAIN_AFTER_MS)) this.#renew();
    return this.#held.keys;
  }

  /** Newer keys, for a token with an unknown key; undefined if the keys were reloaded a moment ago. */
  async newer(): Promise<Keys | undefined> {
    if (this.#loading) return this.#loading;
    return this.#triedWithin(ASK_AGAIN_AFTER_MS) ? undefined : this.#load();
  }

  /** Loads the keys early, so that the operator sees a problem at start-up. */
  begin(): void {
    this.#renewals.start("the keys of the OAuth issuer could not be loaded", async () => {
      await this.#load();
    });
  }

  async close(): Promise<void> {
    this.#closing.abort(new Error("the server is shutting down"));
    await this.#renewals.settle();
  }

  #renew(): void {
    this.#renewals.start("the keys of the OAuth issuer could not be reloaded; the previous ones stay in use", async () => {
      await this.#load();
    });
  }

  #triedWithin(ms: number): boolean {
    return this.#lastTry !== undefined && this.#options.now() - this.#lastTry.at < ms;
  }

  #asBefore(): Promise<Keys> {
    return this.#loading ?? Promise.reject(this.#lastTry?.failure);
  }

  #load(): Promise<Keys> {
    this.#lastTry = { at: this.#options.now() };
    this.#loading ??= this.#loadOnce().finally(() => {
      this.#loading = undefined;
    });
    return this.#loading;
  }

  async #loadOnce(): Promise<Keys> {
    const { load, now } = this.#options;
    try {
      const keys = await load(this.#closing.signal);
      this.#held = { keys, loadedAt: now() };
      return keys;
    } catch (failure) {
      this.#lastTry = { at: now(), failure };
      throw failure;
    }
  }
}
