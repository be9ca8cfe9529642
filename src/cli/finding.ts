/** One line of the doctor's report. */
export interface Finding {
  readonly verdict: "ok" | "note" | "fails";
  readonly subject: string;
  readonly text: string;
}
