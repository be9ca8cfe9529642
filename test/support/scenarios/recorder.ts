import type { RecordedRequest } from "../model/responsesServer.js";
import type { Mask } from "../processes/placeholders.js";
import type { Entry, Remark } from "./transcript.js";

/** Writes a transcript: everything masked, lines parsed if they are messages. */
export class Recorder {
  readonly entries: Entry[] = [];

  constructor(private readonly mask: Mask) {}

  line(dir: "in" | "out", text: string): void {
    const masked = this.mask(text);
    const msg = messageOn(masked);
    this.entries.push(msg === undefined ? { dir, raw: masked } : { dir, msg });
  }

  raw(dir: "in" | "err", text: string): void {
    this.entries.push({ dir, raw: this.mask(text) });
  }

  remark(meta: Remark): void {
    this.entries.push({ dir: "meta", meta: JSON.parse(this.mask(JSON.stringify(meta))) });
  }

  modelRequest({ body }: RecordedRequest): void {
    const { model, input, reasoning, text, tool_choice, parallel_tool_calls } = body;
    const asked = { model, instructions: body["instructions"], input, reasoning, text, tool_choice, parallel_tool_calls };
    this.entries.push({ dir: "model", msg: JSON.parse(this.mask(JSON.stringify(asked))) });
  }
}

/** The message on a line of its own; undefined for anything else. */
export function messageOn(line: string): unknown {
  if (line !== line.trim()) return undefined;
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
}
