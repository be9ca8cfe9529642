/** Lines in a square of 16 by 16. */
const PATHS = {
  inbox: "M2 9.5h3.2l1 2h3.6l1-2H14M2 9.5 4 3h8l2 6.5V13H2z",
  threads: "M2.5 4h11M2.5 8h11M2.5 12h7",
  new: "M8 3v10M3 8h10",
  numbers: "M2.5 2.5v11h11M5.5 11V8.5M8.5 11V5M11.5 11V7",
  doctor: "M1.5 8.5h3l2-5 2.5 9 2-4h3.5",
  settings: "M2 5h6M12 5h2M2 11h2M8 11h6M10 3.5a1.5 1.5 0 1 0 0 3 1.5 1.5 0 0 0 0-3M6 9.5a1.5 1.5 0 1 0 0 3 1.5 1.5 0 0 0 0-3",
} as const;

export type IconName = keyof typeof PATHS;

/** Decorative: a word beside it has the same meaning. */
export function Icon({ name }: { readonly name: IconName }) {
  return (
    <svg className="icon" viewBox="0 0 16 16" aria-hidden="true">
      <path d={PATHS[name]} />
    </svg>
  );
}
