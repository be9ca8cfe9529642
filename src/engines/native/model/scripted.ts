import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { type ModelClient, type ModelEvent, ModelFailure, type ModelRequest } from "./client.js";
import { decodeEvent } from "./decode.js";
import { failureOfStatus } from "./failures.js";
import { IdleLimit } from "./idleLimit.js";
import type { ScriptedAnswer, ScriptedModel } from "./script.js";

/** The scripted model as a provider: the same answers, decoding and failures as over HTTP, without a socket. */
export class ScriptedClient implements ModelClient {
  constructor(
    private readonly model: ScriptedModel,
    private readonly idleTimeoutMs: number,
  ) {}

  async *stream({ body }: ModelRequest, signal: AbortSignal): AsyncGenerator<readonly ModelEvent[]> {
    const answer = this.model.answer(JSON.parse(body));
    if (answer.delayMs > 0) await sleep(answer.delayMs, undefined, { signal });
    if (answer.status !== 200)
      throw failureOfStatus({ status: answer.status, headers: {}, body: answer.body ?? "", url: "scripted://model/responses" });
    yield [{ type: "accepted", rateLimits: undefined }];
    yield* play(answer, signal);
    if (answer.ending === "hang") await hang(this.idleTimeoutMs, signal);
    if (answer.ending === "cut")
      throw new ModelFailure("stream disconnected before completion: Transport error: network error: error decoding response body", {
        retry: "stream",
      });
  }
}

async function* play({ events, gapMs }: ScriptedAnswer, signal: AbortSignal): AsyncGenerator<readonly ModelEvent[]> {
  let batch: ModelEvent[] = [];
  for (const event of events) {
    const decoded = decodeEvent(event);
    if (!decoded) continue;
    batch.push(decoded);
    if (gapMs === 0 || decoded.type !== "textDelta") continue;
    yield batch;
    batch = [];
    await sleep(gapMs, undefined, { signal });
  }
  if (batch.length > 0) yield batch;
}

async function hang(idleTimeoutMs: number, signal: AbortSignal): Promise<never> {
  const idle = new IdleLimit(idleTimeoutMs, signal);
  if (!idle.signal.aborted) await once(idle.signal, "abort");
  idle.stop();
  signal.throwIfAborted();
  throw new ModelFailure("stream disconnected before completion: idle timeout waiting for SSE", { retry: "stream" });
}
