/** Makes a switch over a union exhaustive at compile time, and throws if an unexpected value arrives at run time. */
export function assertNever(value: never): never {
  throw new Error(`Unexpected value: ${JSON.stringify(value)}`);
}
