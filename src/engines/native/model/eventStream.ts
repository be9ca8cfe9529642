/**
 * Reads what the events of a `text/event-stream` carry, from pieces that end anywhere. Only the data: names, ids and waiting times of
 * events mean nothing to a model's answer.
 */
export class EventStreamReader {
  readonly #take: (data: string) => void;
  /** The start of a line whose end has not come. */
  #rest = "";
  #data: string | undefined;
  #atStart = true;
  #afterReturn = false;

  constructor(take: (data: string) => void) {
    this.#take = take;
  }

  feed(piece: string): void {
    if (piece === "") return;
    const text = this.#plain(piece);
    let from = 0;
    let end = text.indexOf("\n");
    // Only the new piece is searched: a line may come in thousands of them.
    if (end !== -1 && this.#rest !== "") {
      const line = this.#rest + text.slice(0, end);
      this.#rest = "";
      this.#line(line, 0, line.length);
      from = end + 1;
      end = text.indexOf("\n", from);
    }
    for (; end !== -1; end = text.indexOf("\n", from)) {
      this.#line(text, from, end);
      from = end + 1;
    }
    if (from < text.length) this.#rest += text.slice(from);
  }

  #line(text: string, from: number, end: number): void {
    if (from === end) {
      const data = this.#data;
      this.#data = undefined;
      if (data !== undefined) this.#take(data);
    } else if (text.startsWith("data:", from)) {
      this.#add(text.slice(from + (text.startsWith(" ", from + 5) ? 6 : 5), end));
    } else if (end - from === 4 && text.startsWith("data", from)) {
      this.#add("");
    }
  }

  #add(data: string): void {
    this.#data = this.#data === undefined ? data : `${this.#data}\n${data}`;
  }

  /** With `\n` as the only end of a line, and without the mark that may stand before the first. */
  #plain(piece: string): string {
    let text = piece;
    if (this.#atStart && text.startsWith("\uFEFF")) text = text.slice(1);
    this.#atStart = false;
    if (this.#afterReturn && text.startsWith("\n")) text = text.slice(1);
    this.#afterReturn = piece.endsWith("\r");
    return text.includes("\r") ? text.replaceAll(/\r\n?/g, "\n") : text;
  }
}
