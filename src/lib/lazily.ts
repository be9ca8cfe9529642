/** Something that is loaded when it is first needed, once. */
export interface Lazy<T> {
  readonly get: () => Promise<T>;
  /** Begins to load once what is being written now has left. */
  warmUp(): void;
  ifLoaded(): Promise<T | undefined>;
}

export function lazily<T>(load: () => Promise<T>): Lazy<T> {
  let loaded: Promise<T> | undefined;
  const get = () => {
    loaded ??= load().catch((error: unknown) => {
      // What failed now may work for the next call: a config.toml that was broken for a moment, say.
      loaded = undefined;
      throw error;
    });
    return loaded;
  };
  return {
    get,
    warmUp() {
      // A failure to load is told to the call that needs it.
      const begin = () => void get().catch(() => undefined);
      // What was said in this turn of the event loop leaves at its end, perhaps after the first of the two.
      setImmediate(() => setImmediate(begin));
    },
    ifLoaded: async () => loaded?.catch(() => undefined),
  };
}
