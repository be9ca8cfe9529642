import type { Readable } from "node:stream";
import { stripVTControlCharacters } from "node:util";
import { LineSplitter } from "../../jsonrpc/lines.js";

const LONGEST_LINE = 2_000;
/** A process that complains without end is heard for so long. */
const REPORTED_LINES = 200;

export interface StderrRoles {
  readonly report: (line: string) => void;
  /** Takes secrets out: the last line may become part of an answer. */
  readonly mask: (line: string) => string;
}

/** Keeps a program's stderr flowing: passes its lines on, up to a number, and remembers the last one. */
export class StderrReader {
  #last = "";
  #reported = 0;

  constructor(
    stream: Readable,
    private readonly roles: StderrRoles,
  ) {
    const lines = new LineSplitter(LONGEST_LINE);
    stream.setEncoding("utf8").on("data", (chunk: string) => {
      for (const frame of lines.push(chunk)) this.#take("text" in frame ? frame.text : `a line of ${frame.tooLongBytes} characters`);
    });
    stream.once("end", () => {
      for (const frame of lines.end()) if ("text" in frame) this.#take(frame.text);
    });
  }

  /** `: …` for the end of a sentence, without its full stop; empty when nothing was said. */
  get lastWords(): string {
    return this.#last === "" ? "" : `: ${this.#last.replace(/\.$/, "")}`;
  }

  #take(line: string): void {
    const plain = this.roles.mask(stripVTControlCharacters(line).trim());
    if (plain === "") return;
    this.#last = plain;
    if (this.#reported > REPORTED_LINES) return;
    this.roles.report(this.#reported++ < REPORTED_LINES ? `codex: ${plain}` : "codex: further lines of this process are not shown");
  }
}
