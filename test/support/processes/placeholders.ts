/** Values that a scenario may use as `${NAME}`. */
export type Variables = Readonly<Record<string, unknown>>;

const REPEATS_WORTH_FOLDING = 10_000;

/** Replaces `${NAME}` and `${REPEAT:c:n}` with their values, in keys and texts at any depth. */
export function fill(value: unknown, variables: Variables): unknown {
  if (typeof value === "string") return fillText(value, variables);
  if (Array.isArray(value)) return value.map((entry) => fill(entry, variables));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, entry]) => [fillString(key, variables), fill(entry, variables)]));
}

/** A text that is only a variable gets the variable's type. */
function fillText(text: string, variables: Variables): unknown {
  const [, only] = /^\$\{(\w+)\}$/.exec(text) ?? [];
  return only !== undefined && only in variables ? variables[only] : fillString(text, variables);
}

export function fillString(text: string, variables: Variables): string {
  return text.replaceAll(/\$\{(\w+)(?::(.):(\d+))?\}/gs, (all: string, name: string, char?: string, count?: string) => {
    if (name === "REPEAT" && char !== undefined) return char.repeat(Number(count));
    return name in variables ? String(variables[name]) : all;
  });
}

/** The inverse: replaces values that differ between machines with placeholders. */
export type Mask = (text: string) => string;

/** `places` maps an address or folder to its placeholder; longer ones first if one contains another. */
export function maskOf(places: readonly (readonly [place: string, placeholder: string])[]): Mask {
  return (text) => places.reduce((masked, [place, placeholder]) => masked.replaceAll(place, placeholder), foldRepeats(text));
}

/** Long runs of one character become `<REPEAT:c:n>`. */
function foldRepeats(text: string): string {
  if (text.length < REPEATS_WORTH_FOLDING) return text;
  const run = new RegExp(`(.)\\1{${REPEATS_WORTH_FOLDING - 1},}`, "gs");
  return text.replaceAll(run, (all: string, char: string) => `<REPEAT:${char}:${all.length}>`);
}
