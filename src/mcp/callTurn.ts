import type { ThreadEvent, TurnOutcome } from "../threads/model.js";
import type { Turn } from "../threads/turn.js";
import { type ApprovalDoor, ElicitationDoor } from "./approvalDoor.js";
import type { Call } from "./call.js";
import { CodexEventWriter } from "./codexEvent.js";
import { logMessage, reaches } from "./logMessage.js";
import { ProgressReporter } from "./progress.js";

export interface FollowOptions {
  readonly approvals: ApprovalDoor;
  /** Sees every event, whatever the client is shown. */
  readonly observe: (event: ThreadEvent) => void;
}

/**
 * Attaches a call to a turn: the client sees what happens until the turn ends, and a cancelled call interrupts it.
 * The call does not own the turn; others may read the same log.
 */
export async function followTurn(turn: Turn, call: Call, { approvals, observe }: FollowOptions): Promise<TurnOutcome> {
  const interrupt = () => turn.interrupt();
  call.signal.addEventListener("abort", interrupt, { once: true });
  if (call.signal.aborted) interrupt();
  const client = new TurnView(turn, call);
  const door = new ElicitationDoor(call, approvals);
  try {
    for await (const batch of turn.log.read()) {
      for (const { value } of batch) {
        client.show(value);
        door.take(value);
        observe(value);
        // Within a batch too: a reader that was behind gets everything it missed in one.
        const congestion = call.peer.congested();
        if (congestion) await congestion;
      }
    }
    return await turn.outcome;
  } finally {
    client.close();
    await door.close();
    call.signal.removeEventListener("abort", interrupt);
  }
}

/** What one client gets to see of a turn: every event, and progress and log messages if it asked for them. */
class TurnView {
  readonly #call: Call;
  readonly #meta: Readonly<Record<string, unknown>>;
  readonly #events: CodexEventWriter;
  readonly #progress: ProgressReporter | undefined;

  constructor(turn: Turn, call: Call) {
    this.#call = call;
    this.#meta = { requestId: call.requestId, threadId: turn.threadId };
    this.#events = new CodexEventWriter(call.requestId, turn);
    const { progressToken } = call;
    if (progressToken !== undefined)
      this.#progress = new ProgressReporter(
        (progress, message) => this.#notify("notifications/progress", { progressToken, progress, message }),
        "Waiting to start",
      );
  }

  show(event: ThreadEvent): void {
    const { peer, requestId } = this.#call;
    for (const text of this.#events.write(event)) peer.notifyText(text, { relatedTo: requestId });
    this.#progress?.observe(event);
    this.#log(event);
  }

  close(): void {
    this.#progress?.stop();
  }

  #log(event: ThreadEvent): void {
    const threshold = this.#call.logLevel();
    const line = threshold === undefined ? undefined : logMessage(event);
    if (line && threshold && reaches(line.level, threshold))
      this.#notify("notifications/message", { level: line.level, logger: "codex", data: line.data });
  }

  /** A cancelled call gets the turn's last events, as Codex sends them, but nothing of MCP's own any more. */
  #notify(method: string, params: Readonly<Record<string, unknown>>): void {
    if (this.#call.signal.aborted) return;
    this.#call.peer.notify(method, { ...params, _meta: this.#meta }, { relatedTo: this.#call.requestId });
  }
}
