import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { FunctionCoverage, Position, Probe, Trace } from "./probe.js";
import type { TranspiledProgram } from "./transpile.js";

/** One function of the call chain from the receiver of the message to the model request. */
export interface Frame {
  readonly file: string;
  readonly functionName: string;
  readonly url: string;
  readonly at: Position;
}

export interface SpineOptions {
  readonly program: TranspiledProgram;
  readonly probe: Pick<Probe, "reset" | "traces" | "coverage" | "watch">;
  /** Makes the same call each time. */
  readonly call: () => Promise<void>;
  /** The file that receives messages; its callers belong to the server's start. */
  readonly entry?: string | undefined;
}

/** A longer chain counts as endless. */
const MOST_CALLS = 60;
const FRAME = /^\s+at (?!async )(?:([^()]*?) \()?(file:\/\/[^()]*?):(\d+):(\d+)\)?$/;

/**
 * The functions from the receiver of the message to the model request, outermost first. The chain follows callers across `await`: the stack at the model
 * request reaches back only to the last `await`, so the outermost function on that stack is watched during the next call, and the stack on its entry shows its
 * caller. This is repeated until the receiver is reached. A callback without a caller of ours (a microtask, a timer) is continued with the function that
 * contains it, if the same call entered that function. Otherwise the callback existed before the call, and the chain starts there.
 */
export async function findSpine({ program, probe, call, entry }: SpineOptions): Promise<readonly Frame[]> {
  let chain: readonly Frame[] = [];
  let inner = "";
  let watched = "model";
  let joins = false;
  for (let calls = 0; calls < MOST_CALLS; calls++) {
    await probe.reset();
    await call();
    const trace = lastBefore(await probe.traces(), { watched, inner });
    if (!trace && chain.length > 0) return chain;
    if (!trace) throw new Error("the model got no request");
    const frames = framesOf(trace.stack, program);
    const taken = frames.findIndex(({ file }) => file === entry);
    const isScheduled: boolean = chain.length > 0 && frames.length === 1 && !joins;
    chain = [...frames.slice(Math.max(taken, 0)), ...(joins || chain.length === 0 ? chain : chain.slice(1))];
    const [outermost] = chain;
    if (taken >= 0 || !outermost) return chain;
    inner = watched;
    watched = `${outermost.file} ${calls}`;
    joins = isScheduled;
    if (!(await watchFunction({ probe, frame: outermost, what: watched, enclosing: isScheduled }))) return chain;
  }
  throw new Error(`no end after ${MOST_CALLS} calls`);
}

/** The trace that precedes the first trace of the inner function. */
function lastBefore(traces: readonly Trace[], { watched, inner }: { readonly watched: string; readonly inner: string }): Trace | undefined {
  const end = traces.findIndex(({ what }) => what === inner);
  return traces.slice(0, end < 0 ? undefined : end).findLast(({ what }) => what === watched);
}

/** Frames of the stack, without those that only wait (`at async`). */
function framesOf(stack: string, program: TranspiledProgram): Frame[] {
  return stack
    .split("\n")
    .flatMap((line): Frame[] => {
      const [, functionName = "", url = "", row, column] = FRAME.exec(line) ?? [];
      const file = program.sourceOf(url);
      return file ? [{ file, functionName, url, at: { lineNumber: Number(row) - 1, columnNumber: Number(column) - 1 } }] : [];
    })
    .reverse();
}

interface Watched {
  readonly probe: Pick<Probe, "reset" | "traces" | "coverage" | "watch">;
  readonly frame: Frame;
  readonly what: string;
  /** The enclosing function. */
  readonly enclosing: boolean;
}

/** False if there is no such function. */
async function watchFunction({ probe, frame, what, enclosing }: Watched): Promise<boolean> {
  const text = readFileSync(fileURLToPath(frame.url), "utf8");
  const offset = offsetOf(text, frame.at);
  const script = (await probe.coverage()).find(({ url }) => url === frame.url);
  const around = (script?.functions ?? []).filter((candidate) => contains(candidate, offset)).sort((a, b) => lengthOf(a) - lengthOf(b));
  const [range] = around.at(enclosing ? 1 : 0)?.ranges ?? [];
  if (!range || range.endOffset === text.length) return false;
  await probe.watch({ url: frame.url, start: positionOf(text, range.startOffset), end: positionOf(text, range.endOffset), what });
  return true;
}

function contains({ ranges: [range] }: FunctionCoverage, offset: number): boolean {
  return range !== undefined && range.startOffset <= offset && offset < range.endOffset;
}

function lengthOf({ ranges: [range] }: FunctionCoverage): number {
  return range ? range.endOffset - range.startOffset : 0;
}

function offsetOf(text: string, { lineNumber, columnNumber }: Position): number {
  return (
    text
      .split("\n")
      .slice(0, lineNumber)
      .reduce((sum, line) => sum + line.length + 1, 0) + columnNumber
  );
}

function positionOf(text: string, offset: number): Position {
  const before = text.slice(0, offset).split("\n");
  return { lineNumber: before.length - 1, columnNumber: before.at(-1)?.length ?? 0 };
}
