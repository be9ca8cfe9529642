/** Milliseconds on a clock that never goes back. Unlike `performance.now()` it costs a first answer no module to load. */
export function monotonicMs(): number {
  const [seconds, nanoseconds] = process.hrtime();
  return seconds * 1_000 + nanoseconds / 1_000_000;
}
