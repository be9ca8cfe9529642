/** Makes a switch over a union exhaustive for the compiler, and loud if a value slips in at run time. */
export function assertNever(value: never): never {
  throw new Error(`Unexpected value: ${JSON.stringify(value)}`);
}
