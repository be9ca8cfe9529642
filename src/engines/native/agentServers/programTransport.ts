import os from "node:os";
import type { Readable, Writable } from "node:stream";
import type { JSONRPCMessage, Transport } from "@modelcontextprotocol/client";
import { ProgramNotStarted } from "../../../exec/errors.js";
import { endStragglers, endWithUs, killTree } from "../../../exec/killTree.js";
import type { Launch } from "../../../exec/launch.js";
import { type StartedProgram, startProgram } from "../../../exec/startProgram.js";
import { LineSplitter } from "../../../jsonrpc/streamWire.js";
import { isFields, parseForeignJson } from "../../../lib/fields.js";
import { deferred, endsWithin, valueWithin } from "../../../lib/promises.js";

/** The longest accepted message of a server, in characters. Messages may contain images; a server that sends more is disconnected. */
export const LONGEST_MESSAGE = 16 * 1024 * 1024;
/** How long a server may take to exit after its input was closed. */
const EXIT_MS = 300;
/** Time to read output written just before the end; a child process may hold the pipe open for ever. */
const DRAIN_MS = 200;
/** How much of its stderr is kept to explain why it ended. */
const KEPT_STDERR = 2_000;

/** Starts a server. Rejects with the signal's reason if aborted. */
export async function startServerProgram(launch: Launch, signal: AbortSignal): Promise<ProgramTransport> {
  const program = await startProgram(launch, { stdin: "pipe", signal });
  signal.throwIfAborted();
  if (!program?.stdin) throw new ProgramNotStarted(launch.program, "it accepts no input");
  return new ProgramTransport({ ...program, stdin: program.stdin, release: () => launch.release() });
}

type Talking = StartedProgram & Pick<Launch, "release"> & { readonly stdin: Writable };

/** A server on stdin and stdout, one message per line. Only the end of its stderr is kept. */
export class ProgramTransport implements Transport {
  onclose?: (() => void) | undefined;
  onerror?: ((error: Error) => void) | undefined;
  onmessage?: ((message: JSONRPCMessage) => void) | undefined;
  readonly #program: Talking;
  readonly #outputEnded: Promise<void>;
  readonly #lost = deferred<void>();
  readonly #life: Promise<void>;
  readonly #lines = new LineSplitter(LONGEST_MESSAGE);
  #lostBecause: string | undefined;
  #stderr = "";

  constructor(program: Talking) {
    this.#program = program;
    for (const stream of [program.stdin, program.stdout, program.stderr]) stream.on("error", ignore);
    program.stderr.setEncoding("utf8").on("data", (text: string) => {
      this.#stderr = (this.#stderr + text).slice(-KEPT_STDERR);
    });
    this.#outputEnded = closed(program.stdout);
    this.#life = this.#untilNothingLives();
  }

  /** Why no more messages can come; undefined while they can. */
  get lostBecause(): string | undefined {
    return this.#lostBecause;
  }

  /** The last line of its stderr, if any. */
  get lastLine(): string | undefined {
    return this.#stderr.trim().split("\n").at(-1)?.trim() || undefined;
  }

  async start(): Promise<void> {
    this.#program.stdout.setEncoding("utf8").on("data", (text: string) => this.#read(text));
  }

  async send(message: JSONRPCMessage): Promise<void> {
    try {
      await written(this.#program.stdin, `${JSON.stringify(message)}\n`);
    } catch (error) {
      // The way the program ended is more informative than a closed input.
      await endsWithin(2 * DRAIN_MS, this.#lost.promise);
      this.#lose("it closed its input");
      throw error;
    }
  }

  /** Resolves when all processes of the server have ended. */
  async close(): Promise<void> {
    this.#lose("it was closed");
    await this.#life;
  }

  #read(text: string): void {
    for (const frame of this.#lines.push(text)) {
      if (this.#lostBecause !== undefined) return;
      if ("text" in frame) this.#receive(frame.text);
      else this.#lose(`it sent a message of ${frame.tooLongBytes} characters; ${LONGEST_MESSAGE} are the limit`);
    }
  }

  #receive(line: string): void {
    const message = messageIn(line);
    if (message) this.onmessage?.(message);
  }

  /** Fails pending requests at once; closing the program takes its time. */
  #lose(because: string): void {
    if (this.#lostBecause !== undefined) return;
    this.#lostBecause = because;
    this.#lost.resolve();
    this.onclose?.();
  }

  async #untilNothingLives(): Promise<void> {
    const { exitCode, stdin } = this.#program;
    const gone = endWithUs(this.#program);
    await Promise.race([exitCode, this.#outputEnded, this.#lost.promise]);
    if (this.#lostBecause === undefined) {
      const [code] = await valueWithin(DRAIN_MS, Promise.all([exitCode, this.#outputEnded]), [undefined]);
      this.#lose(howItEnded(code ?? (await valueWithin(0, exitCode, undefined))));
    }
    stdin.end();
    if (!(await endsWithin(EXIT_MS, exitCode))) await killTree(this.#program);
    const everythingIsGone = await endStragglers(this.#program);
    this.#program.close({ everythingIsGone });
    this.#program.release();
    gone();
  }
}

/** Errors of the streams are not reported, because the end of the program is. */
const ignore = () => {};

function written(stream: Writable, text: string): Promise<void> {
  return new Promise((resolve, reject) => {
    stream.write(text, (error) => (error ? reject(error) : resolve()));
  });
}

function closed(stream: Readable): Promise<void> {
  return new Promise((resolve) => {
    stream.once("close", resolve);
  });
}

const FIRST_SIGNAL_CODE = 128;

function howItEnded(exitCode: number | undefined): string {
  if (exitCode === undefined) return "it closed its output";
  const signal = Object.entries(os.constants.signals).find(([, number]) => number === exitCode - FIRST_SIGNAL_CODE)?.[0];
  return signal === undefined ? `it exited with code ${exitCode}` : `it was ended by ${signal}`;
}

/** Servers often print other text on stdout; such lines are ignored. */
function messageIn(line: string): JSONRPCMessage | undefined {
  if (!line.startsWith("{")) return undefined;
  try {
    const value: unknown = parseForeignJson(line);
    // The client determines the kind of message and ignores invalid ones.
    return isFields(value) ? (value as JSONRPCMessage) : undefined;
  } catch {
    return undefined;
  }
}
