/** One problem that a reviewer found. */
export interface ReviewFinding {
  /** 0 is the most severe, 3 a detail; null when the reviewer did not state it. */
  readonly priority: number | null;
  readonly title: string;
  readonly file: string;
  /** First and last line; null when the finding is about the whole file. */
  readonly lines: readonly [first: number, last: number] | null;
  readonly body: string;
  /** From 0 to 1; null when the reviewer did not state it. */
  readonly confidence: number | null;
}

/** The prefix of the user message that records a review request on our threads. */
export const REVIEW_REQUEST = "Review: ";
/** The text in such a message on Codex's threads. */
const CODEX_REVIEW_REQUEST = "<action>review</action>";

/** Whether a user message is a review request, so that the answer after it is a review. */
export function isReviewRequest(message: string): boolean {
  return message.startsWith(REVIEW_REQUEST) || message.includes(CODEX_REVIEW_REQUEST);
}

/** More than anyone reads; protects against a text that repeats itself. */
const MOST_FINDINGS = 200;

/**
 * `- [P1] Title — path/to/file:10-12 (confidence 0.8)`: the format our reviewer is instructed to write and, except for the confidence, the
 * format Codex gives its reviewer's findings. The body is indented below. The dot matches every character, so that no line is tried at each of its dashes.
 */
const HEADING = /^[-*] (?:\[[Pp]([0-3])\] )?(.+?) (?:—|–|--) `?([^\s`].*?)`?(?: \(confidence (0(?:\.\d+)?|1(?:\.0+)?)\))?$/su;
const PLACE = /^(.+?):(\d{1,9})(?:-(\d{1,9}))?$/;

/** The findings in a review's text, in order. Empty if none has this form. */
export function findingsIn(text: string): readonly ReviewFinding[] {
  const findings: { heading: Omit<ReviewFinding, "body">; body: string[] }[] = [];
  for (const line of text.split(/\r?\n/)) {
    const heading = headingOf(line);
    if (heading) {
      if (findings.length === MOST_FINDINGS) break;
      findings.push({ heading, body: [] });
    } else if (line.trim() === "" || /^\s/.test(line)) findings.at(-1)?.body.push(line.trim());
    // Unindented text belongs to no finding, and neither does the text after it.
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
  // Without a location or a priority it is an ordinary list entry.
  if (file === undefined && priority === undefined) return undefined;
  return {
    priority: priority === undefined ? null : Number(priority),
    title,
    file: file ?? place,
    lines: first === undefined ? null : [Number(first), Number(last ?? first)],
    confidence: confidence === undefined ? null : Number(confidence),
  };
}
