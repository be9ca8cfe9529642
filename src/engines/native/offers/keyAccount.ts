import type { Account, AccountState } from "../../../threads/offers.js";
import type { ModelProvider } from "../../../threads/settings.js";
import { ModelFailure } from "../model/client.js";
import { type CredentialSources, findCredential, readLogin } from "../model/credentials.js";
import { dropApiKey, keepApiKey } from "./authFile.js";
import { ApiKeyInvalid, LoginNotPossible } from "./errors.js";

const LONGEST_KEY = 4096;

/** The account of an engine that pays with keys: those of the environment and the one in `auth.json`. */
export function keyAccount(provider: () => ModelProvider, sources: CredentialSources): Account {
  const { codexHome } = sources;
  return {
    state: async () => stateOf(provider(), sources),

    async loginWithKey(apiKey) {
      const key = apiKey.trim();
      // What cannot stand in a header would make every request fail.
      if (key.length > LONGEST_KEY || !/^[\x21-\x7e]+$/.test(key)) throw new ApiKeyInvalid();
      await keepApiKey(codexHome, key);
    },

    async loginWithDeviceCode() {
      throw new LoginNotPossible(
        "A login with a device code is one of the Codex CLI: start this server with --engine codex, or run `codex login`. This engine needs an API key.",
      );
    },

    async logout() {
      const { apiKey, hasChatGptTokens } = loginIn(codexHome);
      if (apiKey !== undefined) return dropApiKey(codexHome);
      if (hasChatGptTokens)
        throw new LoginNotPossible(
          "auth.json holds a ChatGPT login, which belongs to the Codex CLI and was left alone. End it with `codex logout`.",
        );
      const state = stateOf(provider(), sources);
      if (state.kind === "apiKey")
        throw new LoginNotPossible(`The key in use comes from ${state.source}. Remove it there, and start this server again.`);
    },
  };
}

function stateOf(provider: ModelProvider, sources: CredentialSources): AccountState {
  try {
    const used = findCredential(provider, sources);
    if (used) return { kind: "apiKey", source: used.source };
    return loginIn(sources.codexHome).apiKey === undefined
      ? { kind: "none", isNeeded: false }
      : { kind: "apiKey", source: `auth.json in CODEX_HOME, which provider ${provider.id} does not need` };
  } catch (error) {
    if (!(error instanceof ModelFailure)) throw error;
    return { kind: "none", isNeeded: true, remedy: error.message };
  }
}

/** A file that cannot be read is no login. */
function loginIn(codexHome: string): ReturnType<typeof readLogin> {
  try {
    return readLogin(codexHome);
  } catch (error) {
    if (!(error instanceof ModelFailure)) throw error;
    return { apiKey: undefined, hasChatGptTokens: false };
  }
}
