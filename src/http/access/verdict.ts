import type { Visitor } from "./admission.js";

/** What a token turned out to be worth. */
export type Verdict =
  | { readonly kind: "valid"; readonly visitor: Visitor }
  /** Nobody has given out this token: somebody guesses, or mistyped. */
  | { readonly kind: "unknown" }
  /** It was given out, but not for here and now. */
  | { readonly kind: "unfit"; readonly reason: string }
  | { readonly kind: "insufficient scope"; readonly needed: readonly string[] }
  | { readonly kind: "unchecked"; readonly reason: string };
