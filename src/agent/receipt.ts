import type { FileChange } from "../exec/actions.js";
import type { ThreadEvent } from "../threads/events.js";
import type { ThreadSettings } from "../threads/settings.js";
import type { RateLimits, TokenUsageInfo } from "../threads/usage.js";

/** What the caller should know is said in few sentences; a turn that warns for ever is not followed. */
const MOST_NOTICES = 20;

/** What a turn did: files, commands, cost, and what was really in force. */
export class Receipt {
  readonly #files = new Map<string, { kind: FileChange["type"]; added: number; removed: number }>();
  readonly #commands = { run: 0, failed: 0 };
  #settings: ThreadSettings | undefined;
  #sandbox: string | undefined;
  #usage: TokenUsageInfo | null = null;
  #rateLimits: RateLimits | undefined;
  readonly #notices: string[] = [];

  observe(event: ThreadEvent): void {
    switch (event.type) {
      case "turnContext":
        this.#settings = event.settings;
        this.#sandbox = event.sandboxBackend;
        return;
      case "tokenCount":
        this.#usage = event.usage ?? this.#usage;
        if (tellsAnything(event.rateLimits)) this.#rateLimits = event.rateLimits;
        return;
      case "warning":
        if (this.#notices.length < MOST_NOTICES) this.#notices.push(event.message);
        return;
      case "commandEnded":
        this.#commands.run++;
        if (event.exitCode !== 0) this.#commands.failed++;
        return;
      case "patchEnded":
        if (event.success) for (const [path, change] of Object.entries(event.changes)) this.#noteFile(path, change);
        return;
      default:
    }
  }

  toJSON(): Readonly<Record<string, unknown>> {
    const settings = this.#settings;
    return {
      files: [...this.#files].map(([path, what]) => ({ path, ...what })),
      commands: { ...this.#commands },
      ...(this.#usage === null ? {} : { usage: this.#usage.total_token_usage }),
      ...(this.#rateLimits === undefined ? {} : { rateLimits: this.#rateLimits }),
      ...(this.#notices.length === 0 ? {} : { notices: [...this.#notices] }),
      ...(settings === undefined
        ? {}
        : {
            cwd: settings.cwd,
            model: settings.model,
            approvalPolicy: settings.approvalPolicy,
            sandbox: { policy: settings.sandboxPolicy.type, enforcedBy: this.#sandbox ?? "nothing" },
          }),
    };
  }

  #noteFile(path: string, change: FileChange): void {
    const known = this.#files.get(path);
    const { added, removed } = linesOf(change);
    const kind = known?.kind === "add" && change.type === "update" ? "add" : change.type;
    this.#files.set(path, { kind, added: (known?.added ?? 0) + added, removed: (known?.removed ?? 0) + removed });
  }
}

function tellsAnything({ primary, secondary, credits }: RateLimits): boolean {
  return primary !== null || secondary !== null || credits !== null;
}

function linesOf(change: FileChange): { added: number; removed: number } {
  const count = (text: string, start: string) => text.split("\n").filter((line) => line.startsWith(start)).length;
  switch (change.type) {
    case "add":
      return { added: lineCount(change.content), removed: 0 };
    case "delete":
      return { added: 0, removed: lineCount(change.content) };
    case "update":
      return { added: count(change.unified_diff, "+"), removed: count(change.unified_diff, "-") };
  }
}

function lineCount(text: string): number {
  return text === "" ? 0 : text.split("\n").length - (text.endsWith("\n") ? 1 : 0);
}
