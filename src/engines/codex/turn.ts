import { within } from "../../exec/deadline.js";
import { RpcError } from "../../jsonrpc/errors.js";
import { deferred } from "../../lib/deferred.js";
import { describe } from "../../lib/errors.js";
import { isFields, textOrNothing } from "../../lib/fields.js";
import type { TurnContext } from "../../threads/engine.js";
import type { ThreadEvent, ThreadSettings, TurnInput } from "../../threads/model.js";
import type { AppServer } from "./appServer.js";
import { RunningTurn } from "./runningTurn.js";
import { type StallLimits, StallWatch } from "./stallWatch.js";
import { stopTurn } from "./stopTurn.js";
import { nextTurnParams, turnStartParams } from "./translate/settings.js";
import type { TurnEnding } from "./translate/turnEnd.js";
import type { TurnTranslator } from "./translate/turnTranslator.js";

/** An interrupted turn is told as ended after so long, whatever Codex does; `Turn` itself waits a little longer. */
const INTERRUPT_MS = 1_500;
/** Without a network Codex takes seconds to accept a turn. */
const ACCEPTANCE_MS = 60_000;
/** Beyond what Codex itself waits for a word of the model. */
const SILENCE_MARGIN_MS = 60_000;
/** How long Codex may say the same thing again and again: that it waits for a network, for instance. */
const REPETITION_MS = 120_000;

export interface TurnParts {
  readonly server: AppServer;
  /** The thread's id in Codex. */
  readonly codexThreadId: string;
  readonly settings: ThreadSettings;
  readonly translator: TurnTranslator;
  readonly canCleanTerminals: boolean;
  /** No turn has begun since the thread was loaded: Codex is told again what confines it, which costs some milliseconds. */
  readonly isFirst: boolean;
  /** From now on the thread's messages go to this turn. */
  readonly attend: (turn: RunningTurn) => void;
  /** Gets what is still to be done when the turn may already be told as ended. */
  readonly afterwards: (stopping: Promise<void>) => void;
}

/** One turn of Codex, from `turn/start` until nothing of it is left. */
export async function* runCodexTurn(input: TurnInput, ctx: TurnContext, parts: TurnParts): AsyncGenerator<readonly ThreadEvent[]> {
  const { settings, translator } = parts;
  const completed = deferred<void>();
  const turn = new RunningTurn({
    translator,
    settings,
    ctx,
    observe: (method, params) => watch.observe(method, params),
    completed: (ending) => {
      completed.resolve();
      // What an interrupted turn left running is ended before its end is told.
      if (ending.kind === "interrupted") stop(ending);
      else if (!stopping) turn.end(ending);
    },
  });
  const watch = new StallWatch(limitsFor(settings), {
    isExcused: () => turn.isAsking,
    waiting: () => parts.afterwards(parts.server.checkAlive()),
    stalled: (message) => stop({ kind: "failed", message }),
  });
  parts.attend(turn);
  const started = startTurn(input, parts);
  started.catch((error: unknown) => {
    if (error instanceof RpcError) turn.end({ kind: "failed", message: `Codex refused the turn: ${error.message}` });
    // One that did not answer may have begun the turn all the same.
    else stop({ kind: "failed", message: describe(error) });
  });

  let stopping: Promise<void> | undefined;
  const stop = (ending: TurnEnding) => {
    if (stopping) return;
    stopping = stopTurn({ ...parts, started, completed: completed.promise });
    parts.afterwards(stopping);
    parts.afterwards(within(INTERRUPT_MS, stopping, undefined).then(() => turn.end(ending)));
  };
  const interrupt = () => stop(INTERRUPTED);
  ctx.signal.addEventListener("abort", interrupt, { once: true });
  let isOver = false;
  try {
    const ending = yield* turn.events();
    isOver = true;
    yield translator.end(ctx.signal.aborted ? INTERRUPTED : ending);
  } finally {
    // A turn that nobody follows any more must not go on by itself.
    if (!isOver) stop(INTERRUPTED);
    watch.stop();
    ctx.signal.removeEventListener("abort", interrupt);
  }
}

const INTERRUPTED: TurnEnding = { kind: "interrupted" };

async function startTurn(input: TurnInput, { server, codexThreadId, settings, isFirst }: TurnParts): Promise<string> {
  const params = isFirst ? turnStartParams(codexThreadId, input, settings) : nextTurnParams(codexThreadId, input);
  const answer = await server.request("turn/start", params, { timeoutMs: ACCEPTANCE_MS });
  const turn = isFields(answer) ? answer["turn"] : undefined;
  // An empty id stands for whatever runs.
  return (isFields(turn) ? textOrNothing(turn["id"]) : undefined) ?? "";
}

function limitsFor({ provider }: ThreadSettings): StallLimits {
  const silenceMs = provider.streamIdleTimeoutMs + SILENCE_MARGIN_MS;
  return { silenceMs, repetitionMs: Math.min(REPETITION_MS, silenceMs) };
}
