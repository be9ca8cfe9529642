import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { createInterface, type Interface } from "node:readline";

export interface Position {
  readonly lineNumber: number;
  readonly columnNumber: number;
}

/** How often V8 has entered the functions of a file. */
export interface ScriptCoverage {
  readonly url: string;
  readonly functions: readonly FunctionCoverage[];
}

export interface FunctionCoverage {
  readonly functionName: string;
  readonly ranges: readonly { readonly startOffset: number; readonly endOffset: number; readonly count: number }[];
}

export interface Trace {
  readonly what: string;
  readonly stack: string;
}

/** The client side of `probe.mjs`, which runs inside the server. */
export class Probe {
  #lines: AsyncIterator<string>;

  constructor(
    private readonly socket: Socket,
    reader: Interface,
  ) {
    this.#lines = reader[Symbol.asyncIterator]();
  }

  async reset(): Promise<void> {
    await this.#ask({ command: "reset" });
  }

  async coverage(): Promise<readonly ScriptCoverage[]> {
    return (await this.#ask({ command: "coverage" })) as readonly ScriptCoverage[];
  }

  async traces(): Promise<readonly Trace[]> {
    return (await this.#ask({ command: "traces" })) as readonly Trace[];
  }

  async watch(target: { readonly url: string; readonly start: Position; readonly end: Position; readonly what: string }): Promise<void> {
    await this.#ask({ command: "watch", ...target });
  }

  async #ask(command: object): Promise<unknown> {
    this.socket.write(`${JSON.stringify(command)}\n`);
    const { value, done } = await this.#lines.next();
    if (done) throw new Error("the server has ended");
    const answer = JSON.parse(value) as { readonly result?: unknown; readonly error?: string };
    if (answer.error !== undefined) throw new Error(answer.error);
    return answer.result;
  }
}

/** Waits for the probe of a server that is started with this environment. */
export interface ProbeListener extends Disposable {
  readonly env: Readonly<Record<string, string>>;
  readonly probe: Promise<Probe>;
}

export function listenForProbe(modelUrl: string): ProbeListener {
  const folder = mkdtempSync(path.join(tmpdir(), "walk-"));
  const socketPath = path.join(folder, "probe");
  const server = createServer().listen(socketPath);
  const probe = once(server, "connection").then(([socket]: Socket[]) => {
    if (!socket) throw new Error("no connection");
    return new Probe(socket, createInterface({ input: socket }));
  });
  return {
    env: { WALK_SOCKET: socketPath, WALK_MODEL: modelUrl },
    probe,
    [Symbol.dispose]: () => {
      server.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
