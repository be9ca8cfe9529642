import type { ModelPrice } from "../config/resolve.js";
import type { ChangedFiles } from "../exec/changes/workspaceChanges.js";
import type { Reach } from "../threads/limits.js";
import { isTurnEnd, type Turn, type TurnRequest, type TurnWatch } from "../threads/turn.js";
import { costOf, ReceiptCollector, type TurnReceipt } from "./receipt.js";

/** Detects what a turn changes on disk. */
export interface DiskLook {
  /** Call before the first possible change. Never rejects. */
  before(): Promise<void>;
  after(look: { readonly withinMs: number; readonly patches: ReceiptCollector["patches"] }): Promise<ChangedFiles | undefined>;
}

export interface LookedAtPlace {
  readonly cwd: string;
  /** Only later changes count; milliseconds since 1970. */
  readonly sinceMs: number;
  /** What may be read for the caller; absent for the server's own user. */
  readonly reach: Reach | undefined;
}

export interface ReceiptParts {
  /** Absent: the receipt's files come from the agent's patches only. */
  readonly lookAt?: ((place: LookedAtPlace) => Promise<DiskLook>) | undefined;
  /** Model prices, by model name. */
  readonly prices?: Readonly<Record<string, ModelPrice>> | undefined;
}

/** The limit for the look at the disk after a turn, because the caller waits for its response. */
const LOOK_MS = 2_000;
/** The same after an interrupted turn: its caller expects it to end soon. */
const LOOK_WHEN_STOPPED_MS = 500;

/** Builds the receipts of turns while they run. A receipt lives as long as its turn is referenced. */
export class TurnReceipts {
  readonly #parts: ReceiptParts;
  readonly #turns = new WeakMap<Turn, ObservedReceipt>();

  constructor(parts: ReceiptParts) {
    this.#parts = parts;
  }

  /** The additions to a turn's request that produce a receipt. `looks`: include the changes on disk. */
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
    const receipt = await (this.#turns.get(turn) ?? new ObservedReceipt({}, { reach: undefined, looks: false })).receipt();
    const { usage, inForce } = receipt;
    const price = inForce && this.#parts.prices?.[inForce.model];
    return usage && price ? { ...receipt, costUsd: costOf(usage.turn, price) } : receipt;
  }
}

/** The receipt of one turn, under construction. */
class ObservedReceipt {
  readonly #collector = new ReceiptCollector();
  readonly #parts: ReceiptParts;
  readonly #how: { readonly reach: Reach | undefined; readonly looks: boolean };
  #cwd: string | undefined;
  #sinceMs: number | undefined;
  #look: Promise<DiskLook | undefined> | undefined;
  /** Something ran that could change files. */
  #mayHaveChanged = false;
  /** Set once, when the turn has ended. */
  #files: Promise<ChangedFiles | undefined> | undefined;

  constructor(parts: ReceiptParts, how: { readonly reach: Reach | undefined; readonly looks: boolean }) {
    this.#parts = parts;
    this.#how = how;
  }

  observe(event: Parameters<ReceiptCollector["observe"]>[0]): void {
    this.#sinceMs ??= Date.now();
    if (event.type === "threadConfigured" || event.type === "turnContext") this.#cwd = event.settings.cwd;
    this.#collector.observe(event);
    if (isTurnEnd(event)) this.#files = this.#lookAgain(event.type === "turnAborted" ? LOOK_WHEN_STOPPED_MS : LOOK_MS);
  }

  /** Delays the first change of a turn until the first look at the disk is complete. */
  async beforeChanges(): Promise<void> {
    this.#mayHaveChanged = true;
    const { lookAt } = this.#parts;
    const cwd = this.#cwd;
    // An abandoned engine may get here after the turn's end, when no second look follows.
    if (!lookAt || !this.#how.looks || cwd === undefined || this.#files) return;
    this.#look ??= lookAt({ cwd, sinceMs: this.#sinceMs ?? Date.now(), reach: this.#how.reach }).catch(() => undefined);
    await (await this.#look)?.before();
  }

  async receipt(): Promise<TurnReceipt> {
    return this.#collector.receipt(this.#files ? await this.#files : this.#byPatches());
  }

  async #lookAgain(withinMs: number): Promise<ChangedFiles | undefined> {
    if (!this.#mayHaveChanged) return { from: "nothing", list: [] };
    const look = await this.#look;
    if (!look) return this.#byPatches();
    return look.after({ withinMs, patches: this.#collector.patches });
  }

  #byPatches(): ChangedFiles {
    return { from: "patches", list: this.#collector.patches };
  }
}
