import { describe } from "../../lib/errors.js";
import type { Log } from "../../observability/log.js";
import type { TraceContext } from "../../observability/traceContext.js";
import { isTurnEnd, type ThreadEvent, type TurnOutcome } from "../../threads/events.js";
import type { Turn, TurnWatch } from "../../threads/turn.js";
import { StartedTurn } from "./startedTurn.js";
import type { Telemetry } from "./telemetry.js";

/** Where a turn comes from: the log and the trace of the call that asked for it. */
export interface TurnOrigin {
  readonly log: Log;
  readonly trace: TraceContext | undefined;
  /** Told once, when the turn is over. */
  readonly ended?: (outcome: TurnOutcome["status"]) => void;
}

/** Tells logs, numbers and traces what happens in a turn. Costs a comparison per delta. */
export function turnWatch(telemetry: Telemetry, origin: TurnOrigin): TurnWatch {
  return (turn) => {
    const watcher = new TurnWatcher(turn, telemetry, origin);
    return (event) => watcher.take(event);
  };
}

class TurnWatcher {
  readonly #turn: Turn;
  readonly #telemetry: Telemetry;
  readonly #origin: TurnOrigin;
  readonly #log: Log;
  #started: StartedTurn | undefined;

  constructor(turn: Turn, telemetry: Telemetry, origin: TurnOrigin) {
    this.#turn = turn;
    this.#telemetry = telemetry;
    this.#origin = origin;
    this.#log = origin.log.target("agent").with({ thread_id: turn.threadId, turn_id: turn.id });
    telemetry.metrics.turnQueued();
  }

  /** Watching must not break what is watched. */
  take(event: ThreadEvent): void {
    try {
      this.#started ??= this.#start(event);
      this.#started.take(event);
    } catch (error) {
      this.#log.error("a turn could not be followed", { cause: describe(error) });
    }
  }

  #start(first: ThreadEvent): StartedTurn {
    const { tracing, metrics, logsContent } = this.#telemetry;
    const { threadId, id, input } = this.#turn;
    const attributes = { "codex.thread_id": threadId, "codex.turn_id": id };
    const span = tracing.startSpan("turn", { parent: this.#origin.trace, attributes });
    metrics.turnStarted();
    // One that is interrupted while it waits begins with its end.
    if (!isTurnEnd(first)) this.#log.info("turn started", { prompt: logsContent ? input.text : undefined });
    return new StartedTurn({ ...this.#telemetry, log: this.#log, span, ended: this.#origin.ended });
  }
}
