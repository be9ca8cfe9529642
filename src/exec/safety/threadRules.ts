import type { PrefixRule } from "./prefixRule.js";

/** What decides about commands on one thread: the user's rules, and prefixes allowed while it lives. Nothing of it is written to disk. */
export class ThreadRules {
  readonly #allowed = new Map<string, PrefixRule>();

  /** `userRules` is asked each time, so that an edited file counts for the next command. */
  constructor(private readonly userRules: () => readonly PrefixRule[]) {}

  /** From now on commands that begin with these words run without a question, unless a user's rule is stricter. */
  allow(prefix: readonly string[]): void {
    // No words at all would allow everything.
    if (prefix.length === 0) return;
    this.#allowed.set(JSON.stringify(prefix), { pattern: prefix.map((word) => [word]), decision: "allow" });
  }

  inForce(): readonly PrefixRule[] {
    return [...this.userRules(), ...this.#allowed.values()];
  }
}
