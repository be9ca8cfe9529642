import { deferred } from "../lib/promises.js";

const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;
const SIGNAL_NUMBERS = { SIGINT: 2, SIGTERM: 15, SIGHUP: 1 } as const;

/** Resolves on the first termination signal. A second one exits at once. */
export function untilSignalled(exitAtOnce: (code: number) => void): Promise<NodeJS.Signals> {
  const first = deferred<NodeJS.Signals>();
  let signalled = false;
  for (const signal of SIGNALS) {
    process.on(signal, () => {
      if (signalled) exitAtOnce(128 + SIGNAL_NUMBERS[signal]);
      signalled = true;
      first.resolve(signal);
    });
  }
  return first.promise;
}
