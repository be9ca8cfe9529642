import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { IdleDeadline, lazily } from "../../../lib/promises.js";
import type { Engine } from "../../../threads/engine.js";
import { type ClientFactory, type NativeEngineOptions, notifierFor, openNativeThread } from "../engine.js";
import { type ModelClient, type ModelEvent, ModelFailure, type ModelRequest } from "../model/client.js";
import { decodeEvent } from "../model/decode.js";
import { failureOfStatus } from "../model/failures.js";
import { HostEnvironment } from "../tools/hostEnvironment.js";
import { type ScriptedAnswer, ScriptedModel } from "./scriptedModel.js";

/** The native loop on the scripted model: without key or network, and it says so. */
export function createScriptedEngine(options: Omit<NativeEngineOptions, "userAgent">): Engine {
  const host = options.host ?? new HostEnvironment(options);
  const model = new ScriptedModel();
  const clientFor: ClientFactory = ({ provider }) => new ScriptedClient(model, provider.streamIdleTimeoutMs);
  const { services } = options;
  const notifier = notifierFor(host, options.report);
  const loaded = services && lazily(async () => (await import("../services/nativeServices.js")).scriptedServices(services, host));
  return {
    name: "scripted",
    openThread: (opening) => openNativeThread(opening, host, { clientFor, notifier }),
    ...(loaded && { services: () => loaded.get() }),
    async close() {
      await (await notifier.ifLoaded())?.[Symbol.asyncDispose]();
      await host.close();
    },
  };
}

/** The scripted model as a provider: the same responses, decoding and failures as over HTTP, without a socket. */
class ScriptedClient implements ModelClient {
  readonly #model: ScriptedModel;
  readonly #idleTimeoutMs: number;

  constructor(model: ScriptedModel, idleTimeoutMs: number) {
    this.#model = model;
    this.#idleTimeoutMs = idleTimeoutMs;
  }

  async *stream({ body }: ModelRequest, signal: AbortSignal): AsyncGenerator<readonly ModelEvent[]> {
    const answer = this.#model.answer(JSON.parse(body));
    if (answer.delayMs > 0) await sleep(answer.delayMs, undefined, { signal });
    if (answer.status !== 200)
      throw failureOfStatus({ status: answer.status, headers: {}, body: answer.body ?? "", url: "scripted://model/responses" });
    yield [{ type: "accepted", rateLimits: undefined }];
    yield* play(answer, signal);
    if (answer.ending === "hang") await hang(this.#idleTimeoutMs, signal);
    if (answer.ending === "cut")
      throw new ModelFailure("stream disconnected before completion: Transport error: network error: error decoding response body", {
        retry: "stream",
      });
  }
}

async function* play(answer: ScriptedAnswer, signal: AbortSignal): AsyncGenerator<readonly ModelEvent[]> {
  const { events, gapMs, pauseMs = 0 } = answer;
  let batch: ModelEvent[] = [];
  for (const event of events) {
    if (pauseMs > 0 && event.type === "response.failed") {
      yield batch;
      batch = [];
      await sleep(pauseMs, undefined, { signal });
    }
    const decoded = decodeEvent(event);
    if (!decoded) continue;
    batch.push(decoded);
    if (gapMs === 0 || decoded.type !== "textDelta") continue;
    yield batch;
    batch = [];
    await sleep(gapMs, undefined, { signal });
  }
  if (batch.length > 0) yield batch;
  if (pauseMs > 0 && answer.ending === "cut") await sleep(pauseMs, undefined, { signal });
}

async function hang(idleTimeoutMs: number, signal: AbortSignal): Promise<never> {
  using idle = new IdleDeadline(idleTimeoutMs, signal);
  if (!idle.signal.aborted) await once(idle.signal, "abort");
  signal.throwIfAborted();
  throw new ModelFailure("stream disconnected before completion: idle timeout waiting for SSE", { retry: "stream" });
}
