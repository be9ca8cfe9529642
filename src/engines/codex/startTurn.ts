import { assertNever } from "../../lib/assertNever.js";
import { isFields, textOrNothing } from "../../lib/fields.js";
import type { ThreadSettings, TurnInput, TurnWork } from "../../threads/model.js";
import type { AppServer } from "./appServer.js";
import { nextTurnParams, settingsUpdateParams, turnStartParams } from "./translate/settings.js";

/** Without a network Codex takes seconds to accept a turn. */
const ACCEPTANCE = { timeoutMs: 60_000 };

/** Stands for whatever runs. */
const WHATEVER_RUNS = "";

export interface TurnPlace {
  readonly server: AppServer;
  /** The thread's id in Codex. */
  readonly codexThreadId: string;
  readonly settings: ThreadSettings;
  /** No turn has begun since the thread was loaded: Codex is told again what confines it, which costs some milliseconds. */
  readonly isFirst: boolean;
}

/** Begins a turn, and gives the id that Codex interrupts it by. */
export async function startTurn(input: TurnInput, place: TurnPlace): Promise<string> {
  if (input.work) return startWork(input.work, place);
  const { server, codexThreadId, settings, isFirst } = place;
  const params = isFirst ? turnStartParams(codexThreadId, input, settings) : nextTurnParams(codexThreadId, input);
  return idOf(await server.request("turn/start", params, ACCEPTANCE));
}

/** Lets the model answer what the thread holds already. */
export async function goOn({ server, codexThreadId: threadId }: TurnPlace): Promise<string> {
  return idOf(await server.request("turn/start", { threadId, input: [] }, ACCEPTANCE));
}

function idOf(answer: unknown): string {
  const turn = isFields(answer) ? answer["turn"] : undefined;
  return (isFields(turn) ? textOrNothing(turn["id"]) : undefined) ?? WHATEVER_RUNS;
}

/** A review is interrupted by another id than the one that its answer tells, and the answer to a compaction tells none. */
async function startWork(work: TurnWork, { server, codexThreadId: threadId, settings, isFirst }: TurnPlace): Promise<string> {
  if (isFirst) await server.request("thread/settings/update", settingsUpdateParams(threadId, settings), ACCEPTANCE);
  switch (work.kind) {
    case "compact":
      await server.request("thread/compact/start", { threadId }, ACCEPTANCE);
      return WHATEVER_RUNS;
    case "review":
      await server.request("review/start", { threadId, target: work.target, delivery: "inline" }, ACCEPTANCE);
      return WHATEVER_RUNS;
    default:
      return assertNever(work);
  }
}
