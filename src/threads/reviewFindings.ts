/** One thing that a reviewer found wrong. */
export interface ReviewFinding {
  /** 0 is the worst, 3 a detail; null when the reviewer did not say. */
  readonly priority: number | null;
  readonly title: string;
  readonly file: string;
  /** First and last line; null when the finding is about the file. */
  readonly lines: readonly [first: number, last: number] | null;
  readonly body: string;
  /** From 0 to 1; null when the reviewer did not say. */
  readonly confidence: number | null;
}

/** How a thread of ours remembers that a review was asked for. */
export const REVIEW_REQUEST = "Review: ";
/** The same in Codex's words. */
const CODEX_REVIEW_REQUEST = "<action>review</action>";

/** The message before an answer that says that it was to be a review. */
export function isReviewRequest(message: string): boolean {
  return message.startsWith(REVIEW_REQUEST) || message.includes(CODEX_REVIEW_REQUEST);
}

/** More than anybody reads; a text that repeats itself ends here. */
const MOST_FINDINGS = 200;

/**
 * `- [P1] Title — path/to/file:10-12 (confidence 0.8)`: what our reviewer is told to write, and, but for the confidence, what Codex makes of its
 * reviewer's findings. The body is indented below.
 */
const HEADING = /^[-*] (?:\[[Pp]([0-3])\] )?(.+?) (?:—|–|--) `?([^\s`].*?)`?(?: \(confidence (0(?:\.\d+)?|1(?:\.0+)?)\))?$/u;
const PLACE = /^(.+?):(\d{1,9})(?:-(\d{1,9}))?$/;

/** The findings in a review's text, in its order. A text without any in this form has none. */
export function findingsIn(text: string): readonly ReviewFinding[] {
  const findings: { heading: Omit<ReviewFinding, "body">; body: string[] }[] = [];
  for (const line of text.split(/\r?\n/)) {
    const heading = headingOf(line);
    if (heading) {
      if (findings.length === MOST_FINDINGS) break;
      findings.push({ heading, body: [] });
    } else if (line.trim() === "" || /^\s/.test(line)) findings.at(-1)?.body.push(line.trim());
    // Whatever is not indented belongs to no finding, nor does what is below it.
    else if (findings.length > 0) findings.at(-1)?.body.push(END);
  }
  return findings.map(({ heading, body }) => ({ ...heading, body: upTo(body).join("\n").trim() }));
}

const END = "\0";

function upTo(lines: readonly string[]): readonly string[] {
  const end = lines.indexOf(END);
  return end === -1 ? lines : lines.slice(0, end);
}

function headingOf(line: string): Omit<ReviewFinding, "body"> | undefined {
  const [, priority, title, place, confidence] = HEADING.exec(line) ?? [];
  if (title === undefined || place === undefined) return undefined;
  const [, file, first, last] = PLACE.exec(place) ?? [];
  // Without a place or a priority it is any entry of any list.
  if (file === undefined && priority === undefined) return undefined;
  return {
    priority: priority === undefined ? null : Number(priority),
    title,
    file: file ?? place,
    lines: first === undefined ? null : [Number(first), Number(last ?? first)],
    confidence: confidence === undefined ? null : Number(confidence),
  };
}
