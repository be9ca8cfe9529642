import type { Frame, Wire } from "../../../src/jsonrpc/wire.js";
import { deferred } from "../../../src/lib/promises.js";

/** Two wires joined in memory: what one sends, the other receives. */
export function memoryWires(): [Wire, Wire] {
  const left = new MemoryWire();
  const right = new MemoryWire();
  left.other = right;
  right.other = left;
  return [left, right];
}

class MemoryWire implements Wire {
  other!: MemoryWire;
  readonly #inbox: Frame[] = [];
  #open = true;
  #arrival = deferred<void>();

  readonly incoming = this.#read();

  send(text: string): void {
    if (this.#open) this.other.#deliver({ text });
  }

  congested(): undefined {
    return undefined;
  }

  async close(): Promise<void> {
    this.#end();
    this.other.#end();
  }

  #deliver(frame: Frame): void {
    this.#inbox.push(frame);
    this.#arrival.resolve();
  }

  #end(): void {
    this.#open = false;
    this.#arrival.resolve();
  }

  async *#read(): AsyncGenerator<Frame> {
    for (;;) {
      for (const frame of this.#inbox.splice(0)) yield frame;
      if (this.#inbox.length > 0) continue;
      if (!this.#open) return;
      await this.#arrival.promise;
      this.#arrival = deferred<void>();
    }
  }
}
