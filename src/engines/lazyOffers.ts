import { lazily } from "../lib/lazily.js";
import type { EngineOffers, ThreadCatalog } from "../threads/offers.js";

/** Offers whose code is loaded when the first of them is taken up. */
export function lazyOffers(load: () => Promise<EngineOffers>): EngineOffers {
  const offers = lazily(load);
  return {
    threads: lazyCatalog(async () => (await offers.get()).threads),
    account: {
      state: async () => (await offers.get()).account.state(),
      loginWithKey: async (apiKey) => (await offers.get()).account.loginWithKey(apiKey),
      loginWithDeviceCode: async () => (await offers.get()).account.loginWithDeviceCode(),
      logout: async () => (await offers.get()).account.logout(),
    },
    models: async (signal) => (await offers.get()).models(signal),
    config: async (cwd) => (await offers.get()).config(cwd),
    runOnce: async (command, signal) => (await offers.get()).runOnce(command, signal),
  };
}

/** The same for the threads alone. */
export function lazyCatalog(load: () => Promise<ThreadCatalog>): ThreadCatalog {
  const catalog = lazily(load);
  return {
    list: async (query) => (await catalog.get()).list(query),
    fork: async (id) => (await catalog.get()).fork(id),
    archive: async (id) => (await catalog.get()).archive(id),
    unarchive: async (id) => (await catalog.get()).unarchive(id),
  };
}
