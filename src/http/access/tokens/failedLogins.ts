import { isIPv6 } from "node:net";

export interface LoginLimits {
  readonly perAddress: number;
  /** The limit for all addresses together. Beyond it, each address is allowed one failure. */
  readonly inTotal: number;
  readonly windowMs: number;
}

const LIMITS: LoginLimits = { perAddress: 10, inTotal: 500, windowMs: 60_000 };
const MAX_ADDRESSES = 10_000;

interface Tally {
  failures: number;
  readonly endsAt: number;
}

/** Counts wrong tokens per address, in a time window that starts with the first one. */
export class FailedLogins {
  readonly #limits: LoginLimits;
  readonly #now: () => number;
  /** In the order in which their windows end. */
  readonly #byAddress = new Map<string, Tally>();
  #inTotal: Tally = { failures: 0, endsAt: 0 };

  constructor(
    limits: LoginLimits = LIMITS,
    /** A monotonic clock. */
    now: () => number = () => performance.now(),
  ) {
    this.#limits = limits;
    this.#now = now;
  }

  /** How long a further wrong token of this address exceeds the limit; 0 if it does not. */
  waitMs(address: string): number {
    if (this.#byAddress.size === 0) return 0;
    this.#forgetEnded();
    const tally = this.#byAddress.get(source(address));
    return tally && tally.failures >= this.#allowance() ? tally.endsAt - this.#now() : 0;
  }

  /** Returns which limit this failure has reached, once per window. */
  record(address: string): "one-address" | "all-addresses" | undefined {
    this.#forgetEnded();
    this.#inTotal.failures += 1;
    const tally = this.#tallyOf(source(address));
    tally.failures += 1;
    if (this.#inTotal.failures === this.#limits.inTotal) return "all-addresses";
    return tally.failures === this.#limits.perAddress ? "one-address" : undefined;
  }

  #allowance(): number {
    return this.#inTotal.failures >= this.#limits.inTotal ? 1 : this.#limits.perAddress;
  }

  #tallyOf(key: string): Tally {
    const known = this.#byAddress.get(key);
    if (known) return known;
    const [oldest] = this.#byAddress.keys();
    if (oldest !== undefined && this.#byAddress.size >= MAX_ADDRESSES) this.#byAddress.delete(oldest);
    const tally = { failures: 0, endsAt: this.#now() + this.#limits.windowMs };
    this.#byAddress.set(key, tally);
    return tally;
  }

  #forgetEnded(): void {
    const now = this.#now();
    if (this.#inTotal.endsAt <= now) this.#inTotal = { failures: 0, endsAt: now + this.#limits.windowMs };
    for (const [key, { endsAt }] of this.#byAddress) {
      if (endsAt > now) break;
      this.#byAddress.delete(key);
    }
  }
}

/** A client with one IPv6 address usually controls its whole /64 network. */
function source(address: string): string {
  if (!isIPv6(address)) return address;
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address);
  if (mapped?.[1]) return mapped[1];
  const [head = [], tail = []] = address.split("::").map((part) => part.split(":"));
  const zeros = Array<string>(Math.max(0, 8 - head.length - tail.length)).fill("0");
  return [...head, ...zeros, ...tail].slice(0, 4).join(":");
}
