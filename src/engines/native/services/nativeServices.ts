import { isFields, textOrNothing } from "../../../lib/fields.js";
import type { EngineServices, ModelSummary } from "../../../threads/engineServices.js";
import type { ModelProvider, ThreadSettings } from "../../../threads/settings.js";
import { maskedConfig } from "../../maskedConfig.js";
import { readStart, sendRequest } from "../model/http.js";
import { traitsOf } from "../model/modelTraits.js";
import { type CredentialSources, endpoint, providerHeaders } from "../model/provider.js";
import type { HostEnvironment } from "../tools/hostEnvironment.js";
import { configWords } from "./configWords.js";
import { keyAccount, LoginNotPossible } from "./keyAccount.js";
import { runOneOffCommand } from "./runOnce.js";

/** What the services are made from that is not the engine's own. */
export interface ServiceSources {
  /** What a new thread in this folder would run with; without one, in the server's own. */
  readonly settingsIn: (cwd?: string) => ThreadSettings;
}

export function nativeServices(
  sources: ServiceSources,
  host: HostEnvironment,
  { userAgent }: { readonly userAgent: string },
): EngineServices {
  const { settingsIn } = sources;
  const { codexHome, env } = host;
  return {
    ...servicesOfAnyModel(sources, host),
    account: keyAccount(() => settingsIn().provider, { codexHome, env }),
    models: async (signal) => availableModels(settingsIn(), { codexHome, env, userAgent }, signal),
  };
}

/** There is one scripted model, and nobody pays for it. */
export function scriptedServices(sources: ServiceSources, host: HostEnvironment): EngineServices {
  const needless = async () => {
    throw new LoginNotPossible("The scripted model needs no login. Start this server with another engine to use a real one.");
  };
  return {
    ...servicesOfAnyModel(sources, host),
    account: {
      state: async () => ({ kind: "none", isNeeded: false }),
      loginWithKey: needless,
      loginWithDeviceCode: needless,
      logout: needless,
    },
    models: async () => [modelSummary(sources.settingsIn().model, { isDefault: true })],
  };
}

function servicesOfAnyModel({ settingsIn }: ServiceSources, host: HostEnvironment): Pick<EngineServices, "config" | "runOnce"> {
  return {
    config: async (cwd) => maskedConfig(configWords(settingsIn(cwd))),
    runOnce: async (command, signal) => runOneOffCommand(command, { host, settings: settingsIn(command.cwd) }, signal),
  };
}

const DEADLINE_MS = 10_000;
const LONGEST_ANSWER = 4 * 1024 * 1024;
const MOST_MODELS = 1_000;

interface ListSources extends CredentialSources {
  readonly userAgent: string;
}

/** The configured model, then whatever else its provider lists. Many providers have no list, and then the configured one is all there is. */
export async function availableModels(
  settings: ThreadSettings,
  sources: ListSources,
  signal: AbortSignal,
): Promise<readonly ModelSummary[]> {
  const { model, provider } = settings;
  const listed = await listedModels(provider, sources, signal);
  return [...new Set([model, ...listed])].map((name) => modelSummary(name, { isDefault: name === model }));
}

function modelSummary(model: string, { isDefault }: Pick<ModelSummary, "isDefault">): ModelSummary {
  return { model, displayName: model, isDefault, reasoningEfforts: traitsOf({ model }).efforts ?? [] };
}

async function listedModels(provider: ModelProvider, sources: ListSources, signal: AbortSignal): Promise<readonly string[]> {
  try {
    const headers = { accept: "application/json", "user-agent": sources.userAgent, ...providerHeaders(provider, sources) };
    const response = await sendRequest(endpoint(provider, "models"), {
      env: sources.env,
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
