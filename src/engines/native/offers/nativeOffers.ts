import type { EngineOffers } from "../../../threads/offers.js";
import { maskedConfig } from "../../maskedConfig.js";
import type { Machine } from "../tools/machine.js";
import { configWords } from "./configWords.js";
import { LoginNotPossible } from "./errors.js";
import { keyAccount } from "./keyAccount.js";
import { modelOffer, offeredModels } from "./modelList.js";
import { runOnce } from "./runOnce.js";
import type { OfferSources } from "./sources.js";

export function nativeOffers(sources: OfferSources, machine: Machine, { userAgent }: { readonly userAgent: string }): EngineOffers {
  const { settingsIn } = sources;
  const { codexHome, env } = machine;
  return {
    ...offersOfAnyModel(sources, machine),
    account: keyAccount(() => settingsIn().provider, { codexHome, env }),
    models: async (signal) => offeredModels(settingsIn(), { codexHome, env, userAgent }, signal),
  };
}

/** There is one scripted model, and nobody pays for it. */
export function scriptedOffers(sources: OfferSources, machine: Machine): EngineOffers {
  const needless = async () => {
    throw new LoginNotPossible("The scripted model needs no login. Start this server with another engine to use a real one.");
  };
  return {
    ...offersOfAnyModel(sources, machine),
    account: {
      state: async () => ({ kind: "none", isNeeded: false }),
      loginWithKey: needless,
      loginWithDeviceCode: needless,
      logout: needless,
    },
    models: async () => [modelOffer(sources.settingsIn().model, { isDefault: true })],
  };
}

function offersOfAnyModel({ catalog, settingsIn }: OfferSources, machine: Machine): Pick<EngineOffers, "threads" | "config" | "runOnce"> {
  return {
    threads: catalog,
    config: async (cwd) => maskedConfig(configWords(settingsIn(cwd))),
    runOnce: async (command, signal) => runOnce(command, { machine, settings: settingsIn(command.cwd) }, signal),
  };
}
