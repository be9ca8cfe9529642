import type { EngineServices, ModelSummary } from "../../../threads/engineServices.js";
import type { ThreadSettings } from "../../../threads/settings.js";
import { maskedConfig } from "../../maskedConfig.js";
import { generalModels } from "../model/generalModels.js";
import type { ModelChoice } from "../model/modelChoice.js";
import type { ListedModel } from "../model/modelLists.js";
import { traitsOf } from "../model/modelTraits.js";
import type { ReportedLimits } from "../model/provider.js";
import type { HostEnvironment } from "../tools/hostEnvironment.js";
import { configWords } from "./configWords.js";
import { keyAccount, LoginNotPossible } from "./keyAccount.js";
import { runOneOffCommand } from "./runOnce.js";

/** The services' inputs from outside the engine. */
export interface ServiceSources {
  /** The settings of a new thread in this folder; without one, in the server's own. */
  readonly settingsIn: (cwd?: string) => ThreadSettings;
}

/** What the engine has learned from its providers' responses. */
interface HeardFromProviders {
  readonly models: ModelChoice;
  readonly limits: ReportedLimits;
}

export function nativeServices(sources: ServiceSources, host: HostEnvironment, { models, limits }: HeardFromProviders): EngineServices {
  const { settingsIn } = sources;
  const { codexHome, env } = host;
  return {
    ...servicesOfAnyModel(sources, host),
    account: keyAccount(() => settingsIn().provider, { codexHome, env }, limits),
    models: async (signal) => availableModels(settingsIn(), models, signal),
  };
}

/** There is only the scripted model, without an account. */
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
      loginWithBrowser: needless,
      cancelLogin: async () => false,
      credentials: async () => ({ needsOpenai: false }),
      logout: needless,
    },
    models: async () => [modelSummary({ name: sources.settingsIn().model }, { isDefault: true })],
  };
}

function servicesOfAnyModel({ settingsIn }: ServiceSources, host: HostEnvironment): Pick<EngineServices, "config" | "runOnce"> {
  return {
    config: async (cwd) => maskedConfig(configWords(settingsIn(cwd))),
    runOnce: async (command, signal) => runOneOffCommand(command, { host, settings: settingsIn(command.cwd) }, signal),
  };
}

/** The model of new threads, then the others in its provider's list. Many providers have no list; then only the first is known. */
export async function availableModels(
  settings: ThreadSettings,
  models: ModelChoice,
  signal: AbortSignal,
): Promise<readonly ModelSummary[]> {
  const listing = await models.lists.read(settings.provider, signal);
  const { model } = models.forOpening(settings).settings;
  const listed = listing.kind === "read" ? listing.models : [];
  const others = distinct(generalModels(listed).filter(({ name }) => name !== model)).slice(0, MOST_TOLD);
  const own = listed.find(({ name }) => name === model);
  const isLacking = !own && listing.kind === "read" && listing.isWhole;
  return [
    { ...modelSummary(own ?? { name: model }, { isDefault: true }), ...(isLacking && { notOffered: true }) },
    ...others.map((other) => modelSummary(other, { isDefault: false })),
  ];
}

const MOST_TOLD = 1_000;

function distinct(models: readonly ListedModel[]): readonly ListedModel[] {
  return [...new Map(models.map((model) => [model.name, model])).values()];
}

function modelSummary({ name, efforts, shutdown }: ListedModel, { isDefault }: Pick<ModelSummary, "isDefault">): ModelSummary {
  return {
    model: name,
    displayName: name,
    isDefault,
    reasoningEfforts: efforts ?? traitsOf({ model: name }).efforts ?? [],
    ...(shutdown && { shutdownDate: shutdown.toISOString().slice(0, 10) }),
  };
}
