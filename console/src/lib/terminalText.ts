/* oxlint-disable no-control-regex -- control characters are the subject */
/** A piece of a program's output in one style. */
export interface Piece {
  readonly text: string;
  /** Class names: colours and weights of the terminal. */
  readonly style: string;
}

/** Escape sequences: CSI with parameters, strings such as OSC, or a single further character. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are the subject
const SEQUENCE = /\u001b(?:\[([0-?]*)[ -/]*([@-~])|[\]PX^_][^\u0007\u001b]*(?:\u0007|\u001b\\)?|[ -/]*[0-~])/g;
const OTHER_CONTROLS = /(?![\n\t])[\p{Cc}\p{Bidi_Control}]/gu;

/**
 * The output as text: colours and weights are kept, all other terminal sequences (cursor movement, erasing, titles, links) are removed. Of an
 * overwritten line, the last version is kept.
 */
export function terminalPieces(output: string): readonly Piece[] {
  const pieces: Piece[] = [];
  let styles = new Map<string, string>();
  let at = 0;
  const text = output.split("\n").map(lastVersion).join("\n");
  const add = (raw: string) => {
    const shown = raw.replace(OTHER_CONTROLS, "");
    if (shown !== "") pieces.push({ text: shown, style: [...styles.values()].join(" ") });
  };
  for (const { 0: all, 1: parameters, 2: final, index } of text.matchAll(SEQUENCE)) {
    add(text.slice(at, index));
    at = index + all.length;
    if (final === "m") styles = restyled(styles, (parameters ?? "").split(/[;:]/).map(Number));
  }
  add(text.slice(at));
  return pieces;
}

/** The last version of one line. A line may end with CR LF. */
function lastVersion(line: string): string {
  const written = line.endsWith("\r") ? line.slice(0, -1) : line;
  return written.slice(written.lastIndexOf("\r") + 1);
}

const ON: Readonly<Record<number, readonly [string, string]>> = {
  1: ["weight", "t-bold"],
  2: ["weight", "t-dim"],
  3: ["slant", "t-italic"],
  4: ["line", "t-underline"],
  7: ["turn", "t-inverse"],
};
const OFF: Readonly<Record<number, string>> = { 22: "weight", 23: "slant", 24: "line", 27: "turn", 39: "colour", 49: "ground" };

function restyled(before: ReadonlyMap<string, string>, codes: readonly number[]): Map<string, string> {
  const styles = new Map(before);
  for (let at = 0; at < codes.length; at++) {
    const code = codes[at] ?? 0;
    const [kind, style] = ON[code] ?? [];
    if (code === 0) styles.clear();
    else if (kind && style) styles.set(kind, style);
    else if (OFF[code]) styles.delete(OFF[code]);
    else if (code === 38 || code === 48) {
      // 256 colours or true colour: only the first sixteen have a class; the others keep the text's colour.
      const isOf256 = codes[at + 1] === 5;
      const number = codes[at + 2] ?? 16;
      if (isOf256 && number < 16) styles.set(code === 38 ? "colour" : "ground", `${code === 38 ? "t-fg" : "t-bg"}${number}`);
      at += isOf256 ? 2 : 4;
    } else setNamed(styles, code);
  }
  return styles;
}

function setNamed(styles: Map<string, string>, code: number): void {
  if (code >= 30 && code <= 37) styles.set("colour", `t-fg${code - 30}`);
  else if (code >= 90 && code <= 97) styles.set("colour", `t-fg${code - 82}`);
  else if (code >= 40 && code <= 47) styles.set("ground", `t-bg${code - 40}`);
  else if (code >= 100 && code <= 107) styles.set("ground", `t-bg${code - 92}`);
}
