import { type ModelEvent, ModelFailure } from "../../../src/engines/native/model/client.js";
import { ResponsesClient, type ResponsesOptions } from "../../../src/engines/native/model/responses.js";
import type { ModelProvider } from "../../../src/threads/settings.js";
import { settingsIn } from "../threads/rollouts.js";

/** The smallest body that every server of the tests accepts as a request. */
export const SMALL_BODY = JSON.stringify({ model: "mock-model", input: [], tools: [] });

export function clientFor(provider: Partial<ModelProvider>, options: Partial<ResponsesOptions> = {}): ResponsesClient {
  return new ResponsesClient({
    provider: { ...settingsIn("/").provider, streamIdleTimeoutMs: 10_000, ...provider },
    codexHome: "/nowhere",
    env: {},
    userAgent: "test/1",
    threadId: "thread-1",
    ...options,
  });
}

export interface Asked {
  readonly events: readonly ModelEvent[];
  /** The error that ended the answer, if any. */
  readonly failure: ModelFailure | undefined;
}

/** Sends one request and reads the answer to its end. */
export async function ask(client: ResponsesClient, body = SMALL_BODY): Promise<Asked> {
  const events: ModelEvent[] = [];
  try {
    for await (const batch of client.stream({ body }, new AbortController().signal)) events.push(...batch);
    return { events, failure: undefined };
  } catch (error) {
    if (error instanceof ModelFailure) return { events, failure: error };
    throw error;
  }
}
