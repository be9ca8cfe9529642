import { within } from "../../exec/deadline.js";
import { RpcError } from "../../jsonrpc/errors.js";
import { type Deferred, deferred } from "../../lib/deferred.js";
import { describe } from "../../lib/errors.js";
import type { TurnContext } from "../../threads/engine.js";
import type { ThreadEvent, TurnInput } from "../../threads/events.js";
import type { ThreadSettings } from "../../threads/settings.js";
import { LastWord } from "./lastWord.js";
import { RunningTurn } from "./runningTurn.js";
import { type StallLimits, StallWatch } from "./stallWatch.js";
import { goOn, startTurn, type TurnPlace } from "./startTurn.js";
import { steerTurn } from "./steerTurn.js";
import { stopTurn } from "./stopTurn.js";
import type { TurnEnding, TurnTranslator } from "./translate/turnTranslator.js";

/** An interrupted turn is told as ended after so long, whatever Codex does; `Turn` itself waits a little longer. */
const INTERRUPT_MS = 1_500;
/** Beyond what Codex itself waits for a word of the model. */
const SILENCE_MARGIN_MS = 60_000;
/** How long Codex may say the same thing again and again: that it waits for a network, for instance. */
const REPETITION_MS = 120_000;

export interface TurnParts extends TurnPlace {
  readonly translator: TurnTranslator;
  readonly canCleanTerminals: boolean;
  /** From now on the thread's messages go to this turn. */
  readonly attend: (turn: RunningTurn) => void;
  /** Gets what is still to be done when the turn may already be told as ended. */
  readonly afterwards: (stopping: Promise<void>) => void;
}

/** One turn of Codex, from its start until nothing of it is left. */
export async function* runCodexTurn(input: TurnInput, ctx: TurnContext, parts: TurnParts): AsyncGenerator<readonly ThreadEvent[]> {
  const { settings, translator } = parts;
  const lastWord = new LastWord();
  const turn = new RunningTurn({
    translator,
    settings,
    ctx,
    observe(method, params) {
      watch.observe(method, params);
      lastWord.observe(method, params);
    },
    steer: async (text) => !input.work && !stopping && steerTurn(text, { ...parts, ...inCodex }),
    completed(ending) {
      inCodex.completed.resolve();
      // What an interrupted turn left running is ended before its end is told.
      if (ending.kind === "interrupted") stop(ending);
      else if (stopping || !turn.isRunning) return;
      else if (ending.kind === "completed" && lastWord.takeUnanswered()) inCodex = begun(goOn(parts));
      else turn.end(ending);
    },
  });
  const watch = new StallWatch(limitsFor(settings), {
    isExcused: () => turn.isAsking,
    waiting: () => parts.afterwards(parts.server.checkAlive()),
    stalled: (message) => stop({ kind: "failed", message }),
  });
  const begun = (started: Promise<string>): TurnInCodex => {
    started.catch((error: unknown) => {
      if (error instanceof RpcError) turn.end({ kind: "failed", message: `Codex refused the turn: ${error.message}` });
      // One that did not answer may have begun the turn all the same.
      else stop({ kind: "failed", message: describe(error) });
    });
    return { started, completed: deferred<void>() };
  };
  parts.attend(turn);
  let inCodex = begun(startTurn(input, parts));

  let stopping: Promise<void> | undefined;
  const stop = (ending: TurnEnding) => {
    if (stopping) return;
    const { started, completed } = inCodex;
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

interface TurnInCodex {
  /** Its id, once it is accepted. */
  readonly started: Promise<string>;
  readonly completed: Deferred<void>;
}

function limitsFor({ provider }: ThreadSettings): StallLimits {
  const silenceMs = provider.streamIdleTimeoutMs + SILENCE_MARGIN_MS;
  return { silenceMs, repetitionMs: Math.min(REPETITION_MS, silenceMs) };
}
