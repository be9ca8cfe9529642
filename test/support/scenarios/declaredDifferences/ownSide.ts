import { type Aspect, type Difference, NOTHING } from "../compareTranscripts.js";

/** Our side of some differences, by aspect and then by subject. It is explicit if we send nothing. */
export type OwnSide = Partial<Record<Aspect, Readonly<Record<string, unknown>>>>;

export interface DeclaredDifference {
  readonly reason: string;
  /** Exactly what we send instead of the reference's message. */
  readonly ours: OwnSide;
}

export type DeclaredDifferences = Readonly<Record<string, DeclaredDifference>>;

export function ownSide(differences: readonly Difference[]): OwnSide {
  const sides: OwnSide = {};
  for (const { aspect, about, ours } of differences) sides[aspect] = { ...sides[aspect], [about]: ours ?? NOTHING };
  return sides;
}

/** The same difference in several scenarios. */
export function forEach(names: readonly string[], difference: DeclaredDifference): DeclaredDifferences {
  return Object.fromEntries(names.map((name) => [name, difference]));
}
