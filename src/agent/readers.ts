import { type Deferred, deferred } from "../lib/promises.js";
import type { Asker } from "./access.js";
import type { Principal } from "./caller.js";
import { CallCancelled } from "./errors.js";

/** As many files as Node reads at the same time. */
const AT_ONCE = 4;

interface OwnReaders {
  reading: number;
  readonly waiting: Set<Deferred<void>>;
}

/**
 * Limits how many records of threads are read for one principal at the same time. A record may be very long: reading hundreds at once takes
 * gigabytes, and other principals would wait for all of them.
 */
export class Readers {
  readonly #byPrincipal = new Map<Principal, OwnReaders>();

  /** Reads when it is the caller's turn. Throws `CallCancelled` if the caller gives up before. On stdio nobody waits. */
  async read<T>({ caller, signal }: Asker, read: () => Promise<T>): Promise<T> {
    if (!caller) return read();
    const own = this.#byPrincipal.get(caller.principal) ?? { reading: 0, waiting: new Set() };
    this.#byPrincipal.set(caller.principal, own);
    if (own.reading < AT_ONCE) own.reading++;
    else await untilTurn(own, signal);
    try {
      return await read();
    } finally {
      const [next] = own.waiting;
      // The next one takes over the place.
      if (next) own.waiting.delete(next);
      else if (--own.reading === 0) this.#byPrincipal.delete(caller.principal);
      next?.resolve();
    }
  }
}

async function untilTurn({ waiting }: OwnReaders, signal: AbortSignal): Promise<void> {
  if (signal.aborted) throw new CallCancelled();
  const turn = deferred<void>();
  const giveUp = () => {
    if (waiting.delete(turn)) turn.reject(new CallCancelled());
  };
  waiting.add(turn);
  signal.addEventListener("abort", giveUp, { once: true });
  try {
    await turn.promise;
  } finally {
    signal.removeEventListener("abort", giveUp);
  }
}
