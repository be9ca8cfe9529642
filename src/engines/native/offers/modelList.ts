import { isFields, textOrNothing } from "../../../lib/fields.js";
import type { ModelOffer } from "../../../threads/offers.js";
import type { ModelProvider, ReasoningEffort, ThreadSettings } from "../../../threads/settings.js";
import type { CredentialSources } from "../model/credentials.js";
import { sendRequest } from "../model/http.js";
import { endpoint, providerHeaders } from "../model/provider.js";
import { readStart } from "../model/readStart.js";
import { traitsOf } from "../models.js";

const DEADLINE_MS = 10_000;
const LONGEST_ANSWER = 4 * 1024 * 1024;
const MOST_MODELS = 1_000;
/** What every model that reasons understands. */
const EFFORTS: readonly ReasoningEffort[] = ["low", "medium", "high"];

export interface ListSources extends CredentialSources {
  readonly userAgent: string;
}

/** The configured model, then whatever else its provider lists. Many providers have no list, and then the configured one is all there is. */
export async function offeredModels(settings: ThreadSettings, sources: ListSources, signal: AbortSignal): Promise<readonly ModelOffer[]> {
  const { model, provider } = settings;
  const listed = await listedModels(provider, sources, signal);
  return [...new Set([model, ...listed])].map((name) => modelOffer(name, { isDefault: name === model }));
}

export function modelOffer(model: string, { isDefault }: Pick<ModelOffer, "isDefault">): ModelOffer {
  return { model, displayName: model, isDefault, reasoningEfforts: traitsOf(model).reasoning ? EFFORTS : [] };
}

async function listedModels(provider: ModelProvider, sources: ListSources, signal: AbortSignal): Promise<readonly string[]> {
  try {
    const headers = { accept: "application/json", "user-agent": sources.userAgent, ...providerHeaders(provider, sources) };
    const response = await sendRequest(endpoint(provider, "models"), {
      method: "GET",
      headers,
      signal: AbortSignal.any([signal, AbortSignal.timeout(DEADLINE_MS)]),
    });
    const text = await readStart(response, LONGEST_ANSWER);
    signal.throwIfAborted();
    return response.statusCode === 200 ? namesIn(JSON.parse(text)) : [];
  } catch {
    signal.throwIfAborted();
    return [];
  }
}

function namesIn(answer: unknown): string[] {
  const entries = isFields(answer) && Array.isArray(answer["data"]) ? answer["data"] : [];
  return entries
    .flatMap((entry: unknown) => (isFields(entry) ? (textOrNothing(entry["id"]) ?? []) : []))
    .filter((name) => name !== "")
    .slice(0, MOST_MODELS);
}
