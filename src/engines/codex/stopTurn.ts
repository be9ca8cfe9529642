import { within } from "../../exec/deadline.js";
import { RpcError } from "../../jsonrpc/errors.js";
import type { AppServer } from "./appServer.js";

/** A Codex that has not stopped a turn by then has lost its way. */
const STOP_MS = 10_000;
const INTERRUPT_AGAIN_MS = 250;

export interface TurnToStop {
  readonly server: AppServer;
  readonly codexThreadId: string;
  /** The turn's id in Codex, once it is accepted. */
  readonly started: Promise<string>;
  /** Settles when Codex says that the turn is over. */
  readonly completed: Promise<unknown>;
  readonly canCleanTerminals: boolean;
}

/**
 * Ends a turn and its commands, which Codex leaves running when a turn is interrupted. Never rejects: a Codex that does not
 * obey is killed.
 */
export async function stopTurn(turn: TurnToStop): Promise<void> {
  const obeyed = stop(turn).then(
    () => true,
    () => turn.server.isGone,
  );
  if (await within(STOP_MS, obeyed, false)) return;
  await turn.server.kill("The Codex process was ended because it did not stop a turn when it was told to.");
}

async function stop({ server, codexThreadId: threadId, started, completed, canCleanTerminals }: TurnToStop): Promise<void> {
  // An empty id stands for whatever runs.
  const turnId = await started.catch((error: unknown) => (error instanceof RpcError ? undefined : ""));
  if (turnId !== undefined) await interruptUntil(completed, { threadId, turnId }, server);
  if (canCleanTerminals) await server.request("thread/backgroundTerminals/clean", { threadId }).catch(toleratingRefusal);
}

/** What counts is that the turn is over: one that is not there yet or no more is refused, or gets no answer at all. */
async function interruptUntil(completed: Promise<unknown>, turn: { threadId: string; turnId: string }, server: AppServer): Promise<void> {
  const over = completed.then(() => true);
  for (let waitMs = 0; !(server.isGone || (await within(waitMs, over, false))); waitMs = INTERRUPT_AGAIN_MS)
    server.request("turn/interrupt", turn, { timeoutMs: STOP_MS }).catch(() => undefined);
}

function toleratingRefusal(error: unknown): void {
  if (!(error instanceof RpcError)) throw error;
}
