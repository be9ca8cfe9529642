import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import type { Writable } from "node:stream";
import type { JSONRPCMessage, Transport } from "@modelcontextprotocol/client";
import { within } from "../../../exec/deadline.js";
import { endStragglers, killTree } from "../../../exec/killTree.js";
import type { Containment } from "../../../exec/launch.js";
import { launchPlainly } from "../../../exec/sandbox/plain.js";
import { LineSplitter } from "../../../jsonrpc/lines.js";
import { deferred } from "../../../lib/deferred.js";
import { isFields } from "../../../lib/fields.js";
import { LONGEST_MESSAGE } from "./limits.js";

export interface ServerProgram {
  readonly command: string;
  readonly args: readonly string[];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
}

/** How long a server may take to leave by itself once nobody speaks to it any more. */
const FAREWELL_MS = 300;
/** What a server wrote just before it ended is still read; a child of its own may hold the pipe open for ever. */
const DRAIN_MS = 200;
/** As much of its stderr as helps to tell why it ended. */
const KEPT_STDERR = 2_000;

/** Starts a server in a process group of its own. Rejects with the system's error when there is no such program. */
export function startServerProgram({ command, args, cwd, env }: ServerProgram): Promise<ProgramTransport> {
  const launch = launchPlainly({ argv: [command, ...args], cwd, env });
  return new Promise((resolve, reject) => {
    const child = spawn(launch.program, launch.args, { cwd, env: launch.env, detached: true, stdio: "pipe" });
    child.once("error", reject);
    child.once("spawn", () => resolve(new ProgramTransport(child, launch.containment)));
  });
}

/** A server that speaks on its stdin and stdout, a message a line. Its stderr is read, and forgotten but for the end. */
export class ProgramTransport implements Transport {
  onclose?: (() => void) | undefined;
  onerror?: ((error: Error) => void) | undefined;
  onmessage?: ((message: JSONRPCMessage) => void) | undefined;
  readonly #child: ChildProcessWithoutNullStreams;
  readonly #exitCode: Promise<number>;
  readonly #outputEnded: Promise<void>;
  readonly #lost = deferred<void>();
  readonly #life: Promise<void>;
  readonly #lines = new LineSplitter(LONGEST_MESSAGE);
  #lostBecause: string | undefined;
  #stderr = "";

  constructor(child: ChildProcessWithoutNullStreams, containment: Containment) {
    this.#child = child;
    for (const emitter of [child, child.stdin, child.stdout, child.stderr]) emitter.on("error", ITS_END_TELLS);
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      this.#stderr = (this.#stderr + text).slice(-KEPT_STDERR);
    });
    this.#exitCode = new Promise((resolve) => child.once("exit", (code) => resolve(code ?? 1)));
    this.#outputEnded = new Promise((resolve) => child.stdout.once("close", resolve));
    this.#life = this.#untilNothingLives(containment);
  }

  /** Why nothing comes any more; undefined while something may. */
  get lostBecause(): string | undefined {
    return this.#lostBecause;
  }

  /** The last line the server complained with, if it did. */
  get lastWords(): string | undefined {
    return this.#stderr.trim().split("\n").at(-1)?.trim() || undefined;
  }

  async start(): Promise<void> {
    this.#child.stdout.setEncoding("utf8").on("data", (text: string) => this.#read(text));
  }

  async send(message: JSONRPCMessage): Promise<void> {
    try {
      await written(this.#child.stdin, `${JSON.stringify(message)}\n`);
    } catch (error) {
      // How the program ended says more than that it does not listen any more.
      await within(2 * DRAIN_MS, this.#lost.promise, undefined);
      this.#lose("it closed its input");
      throw error;
    }
  }

  /** Resolves when nothing of the server lives any more. */
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

  /** Tells whoever waits for an answer at once; the farewell takes its time. */
  #lose(because: string): void {
    if (this.#lostBecause !== undefined) return;
    this.#lostBecause = because;
    this.#lost.resolve();
    this.onclose?.();
  }

  async #untilNothingLives(containment: Containment): Promise<void> {
    await Promise.race([this.#exitCode, this.#outputEnded, this.#lost.promise]);
    if (this.#lostBecause === undefined) {
      await within(DRAIN_MS, Promise.all([this.#exitCode, this.#outputEnded]), undefined);
      this.#lose(howItEnded(this.#child));
    }
    this.#child.stdin.end();
    const left = this.#exitCode.then(() => true);
    const tree = { pid: this.#child.pid ?? 0, containment, firstProcess: () => undefined, exitCode: this.#exitCode };
    if (await within(FAREWELL_MS, left, false)) await endStragglers(tree);
    else await killTree(tree);
    for (const stream of [this.#child.stdin, this.#child.stdout, this.#child.stderr]) stream.destroy();
  }
}

const ITS_END_TELLS = () => {};

function written(stream: Writable, text: string): Promise<void> {
  return new Promise((resolve, reject) => {
    stream.write(text, (error) => (error ? reject(error) : resolve()));
  });
}

function howItEnded({ exitCode, signalCode }: ChildProcessWithoutNullStreams): string {
  if (signalCode !== null) return `it was ended by ${signalCode}`;
  return exitCode === null ? "it closed its output" : `it exited with code ${exitCode}`;
}

/** Servers that print other things on stdout are common; they are passed over. */
function messageIn(line: string): JSONRPCMessage | undefined {
  if (!line.startsWith("{")) return undefined;
  try {
    const value: unknown = JSON.parse(line);
    // The client looks at what kind of message it is, and ignores what is none.
    return isFields(value) ? (value as JSONRPCMessage) : undefined;
  } catch {
    return undefined;
  }
}
