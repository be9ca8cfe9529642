import { deferred } from "./deferred.js";

/** True when the work ended in time, and before `unless` came in between; the timer ends with the wait. */
export async function endsWithin(
  ms: number,
  work: Promise<unknown>,
  { unless }: { readonly unless?: Promise<unknown> } = {},
): Promise<boolean> {
  const late = deferred<boolean>();
  const timer = setTimeout(() => late.resolve(false), ms);
  unless?.then(
    () => late.resolve(false),
    () => late.resolve(false),
  );
  try {
    return await Promise.race([work.then(() => true), late.promise]);
  } finally {
    clearTimeout(timer);
  }
}
