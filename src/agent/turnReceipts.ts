import type { ModelPrice } from "../config/resolve.js";
import type { ChangedFiles } from "../exec/changes/workspaceChanges.js";
import type { Reach } from "../threads/limits.js";
import { isTurnEnd, type Turn, type TurnRequest, type TurnWatch } from "../threads/turn.js";
import { ReceiptBook, type TurnReceipt } from "./receipt.js";
import { costOf } from "./turnUsage.js";

/** Looks at what a turn changes on the disk. */
export interface DiskLook {
  /** Before the first thing that may change it. Never rejects. */
  before(): Promise<void>;
  after(look: { readonly withinMs: number; readonly patches: ReceiptBook["patches"] }): Promise<ChangedFiles | undefined>;
}

export interface LookedAtPlace {
  readonly cwd: string;
  /** What changed since then counts; milliseconds since 1970. */
  readonly sinceMs: number;
  /** What may be read for whoever asked; absent for the server's own user. */
  readonly reach: Reach | undefined;
}

export interface ReceiptParts {
  /** Absent: receipts tell of files what the agent's patches say. */
  readonly lookAt?: ((place: LookedAtPlace) => Promise<DiskLook>) | undefined;
  /** What models cost, by name. */
  readonly prices?: Readonly<Record<string, ModelPrice>> | undefined;
}

/** A caller waits for its answer meanwhile. */
const LOOK_MS = 2_000;
/** Whoever stopped a turn wants it to be over. */
const LOOK_WHEN_STOPPED_MS = 500;

/** The receipts of turns, made while they run and whoever follows them. Each is kept as long as somebody has its turn. */
export class TurnReceipts {
  readonly #parts: ReceiptParts;
  readonly #turns = new WeakMap<Turn, ObservedReceipt>();

  constructor(parts: ReceiptParts) {
    this.#parts = parts;
  }

  /** What to add to the request of a turn for it to have a receipt. `looks`: with what changed on the disk. */
  requestWith({
    watch,
    reach,
    looks,
  }: {
    readonly watch: TurnWatch | undefined;
    readonly reach: Reach | undefined;
    readonly looks: boolean;
  }): Pick<TurnRequest, "watch" | "beforeChanges"> {
    let receipt: ObservedReceipt | undefined;
    const observe: TurnWatch = (turn) => {
      receipt = new ObservedReceipt(this.#parts, { reach, looks });
      this.#turns.set(turn, receipt);
      const [watched, book] = [watch?.(turn), receipt];
      return (event) => {
        book.observe(event);
        watched?.(event);
      };
    };
    return { watch: observe, beforeChanges: async () => receipt?.beforeChanges() };
  }

  async of(turn: Turn): Promise<TurnReceipt> {
    const receipt = await (this.#turns.get(turn) ?? new ObservedReceipt({}, { reach: undefined, looks: false })).told();
    const { usage, inForce } = receipt;
    const price = inForce && this.#parts.prices?.[inForce.model];
    return usage && price ? { ...receipt, costUsd: costOf(usage.turn, price) } : receipt;
  }
}

/** The receipt of one turn in the making. */
class ObservedReceipt {
  readonly #book = new ReceiptBook();
  readonly #parts: ReceiptParts;
  readonly #how: { readonly reach: Reach | undefined; readonly looks: boolean };
  #cwd: string | undefined;
  #sinceMs: number | undefined;
  #look: Promise<DiskLook | undefined> | undefined;
  /** Settled once, when the turn has ended. */
  #files: Promise<ChangedFiles | undefined> | undefined;

  constructor(parts: ReceiptParts, how: { readonly reach: Reach | undefined; readonly looks: boolean }) {
    this.#parts = parts;
    this.#how = how;
  }

  observe(event: Parameters<ReceiptBook["observe"]>[0]): void {
    this.#sinceMs ??= Date.now();
    if (event.type === "threadConfigured" || event.type === "turnContext") this.#cwd = event.settings.cwd;
    this.#book.observe(event);
    if (isTurnEnd(event)) this.#files = this.#lookAgain(event.type === "turnAborted" ? LOOK_WHEN_STOPPED_MS : LOOK_MS);
  }

  /** Where a turn begins to change things, it is kept waiting for the first look alone. */
  async beforeChanges(): Promise<void> {
    const { lookAt } = this.#parts;
    const cwd = this.#cwd;
    // An engine that was given up may come to it after the end, when nobody looks again.
    if (!lookAt || !this.#how.looks || cwd === undefined || this.#files) return;
    this.#look ??= lookAt({ cwd, sinceMs: this.#sinceMs ?? Date.now(), reach: this.#how.reach }).catch(() => undefined);
    await (await this.#look)?.before();
  }

  async told(): Promise<TurnReceipt> {
    return this.#book.receipt(this.#files ? await this.#files : this.#byPatches());
  }

  async #lookAgain(withinMs: number): Promise<ChangedFiles | undefined> {
    const look = await this.#look;
    if (!look) return this.#byPatches();
    return look.after({ withinMs, patches: this.#book.patches });
  }

  #byPatches(): ChangedFiles {
    return { from: "patches", list: this.#book.patches };
  }
}
