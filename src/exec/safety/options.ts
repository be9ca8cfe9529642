/** Reading a command's options without knowing the whole command. */

/** The words that are not options, nor the value of one of `valued`. */
export function operands(args: readonly string[], valued: readonly string[] = []): string[] {
  const found: string[] = [];
  for (let at = 0; at < args.length; at++) {
    const word = args[at] ?? "";
    if (word === "--") return [...found, ...args.slice(at + 1)];
    if (valued.includes(word)) at++;
    else if (!word.startsWith("-") || word === "-") found.push(word);
  }
  return found;
}

/** The value of the first of these options, given as the next word or after `=`. */
export function optionValue(args: readonly string[], names: readonly string[]): string | undefined {
  for (const [at, word] of args.entries()) {
    if (word === "--") return undefined;
    if (names.includes(word)) return args[at + 1];
    const name = names.find((each) => each.startsWith("--") && word.startsWith(`${each}=`));
    if (name) return word.slice(name.length + 1);
  }
  return undefined;
}

/** A short option, alone or in a cluster: `-f` in `-rf`. */
export function hasShort(args: readonly string[], letter: string): boolean {
  return optionsOf(args).some((word) => /^-[^-]/.test(word) && word.includes(letter));
}

/** A long option, with or without `=value`, also cut short as most programs allow (`--forc`). */
export function hasLong(args: readonly string[], option: string): boolean {
  return optionsOf(args).some((word) => {
    const [name = ""] = word.split("=", 1);
    return name.length > 2 && option.startsWith(name);
  });
}

function optionsOf(args: readonly string[]): string[] {
  const end = args.indexOf("--");
  return (end < 0 ? args : args.slice(0, end)).filter((word) => word.startsWith("-") && word !== "-");
}
