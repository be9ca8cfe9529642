import { randomUUID } from "node:crypto";
import { promises } from "node:fs";
import path from "node:path";
import { AppError, describe, errorCode } from "../../../lib/errors.js";
import { type Fields, isFields } from "../../../lib/fields.js";
import { makeFolder } from "../../../lib/files/makeFolder.js";
import type { Account, AccountState } from "../../../threads/engineServices.js";
import type { ModelProvider } from "../../../threads/settings.js";
import { ModelFailure } from "../model/client.js";
import { type CredentialSources, findCredential, type ReportedLimits, readLogin } from "../model/provider.js";

/** This engine does not support this kind of login or logout. */
export class LoginNotPossible extends AppError {
  readonly code = "login_not_possible";
}

export class ApiKeyInvalid extends AppError {
  readonly code = "api_key_invalid";
  constructor() {
    super("This is not an API key: a key is one word of printable characters.");
  }
}

/** `auth.json` could not be read or written. */
export class LoginNotKept extends AppError {
  readonly code = "login_not_kept";
}

const LONGEST_KEY = 4096;

/** The account of an engine that uses API keys: those of the environment and the one in `auth.json`. */
export function keyAccount(provider: () => ModelProvider, sources: CredentialSources, reported: ReportedLimits): Account {
  const { codexHome } = sources;
  return {
    async state() {
      const limits = reported.of(provider());
      return { ...stateOf(provider(), sources), ...(limits && { limits }) };
    },

    async loginWithKey(apiKey) {
      const key = apiKey.trim();
      // A key that is not a valid header value would make every request fail.
      if (key.length > LONGEST_KEY || !/^[\x21-\x7e]+$/.test(key)) throw new ApiKeyInvalid();
      await keepApiKey(codexHome, key);
    },

    async loginWithDeviceCode() {
      throw new LoginNotPossible(
        "Only the Codex CLI can log in with a device code: start this server with --engine codex, or run `codex login`. This engine needs an API key.",
      );
    },

    async loginWithBrowser() {
      throw new LoginNotPossible(
        "Only the Codex CLI can log in with ChatGPT: start this server with --engine codex, or run `codex login`. This engine needs an API key.",
      );
    },

    cancelLogin: async () => false,

    async credentials() {
      const { tokens } = await readMembers(authFileIn(codexHome));
      const { access_token: access, id_token: identity } = isFields(tokens) ? tokens : {};
      const email = emailIn(identity);
      const known = { needsOpenai: provider().requiresOpenaiAuth, ...(email !== undefined && { email }) };
      try {
        const used = findCredential(provider(), sources);
        return used ? { ...known, method: "apikey", token: used.token } : known;
      } catch (error) {
        if (!(error instanceof ModelFailure)) throw error;
        return typeof access === "string" && access !== "" ? { ...known, method: "chatgpt", token: access } : known;
      }
    },

    async logout() {
      const { apiKey, hasChatGptTokens } = loginIn(codexHome);
      if (apiKey !== undefined) return dropApiKey(codexHome);
      if (hasChatGptTokens)
        throw new LoginNotPossible(
          "auth.json holds a ChatGPT login, which belongs to the Codex CLI and was not removed. End it with `codex logout`.",
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

/** The email address in a token's payload; the token is not verified. */
function emailIn(token: unknown): string | undefined {
  if (typeof token !== "string") return undefined;
  try {
    const claims: unknown = JSON.parse(Buffer.from(token.split(".")[1] ?? "", "base64url").toString("utf8"));
    return isFields(claims) && typeof claims["email"] === "string" ? claims["email"] : undefined;
  } catch {
    return undefined;
  }
}

/** An unreadable file counts as no login. */
function loginIn(codexHome: string): ReturnType<typeof readLogin> {
  try {
    return readLogin(codexHome);
  } catch (error) {
    if (!(error instanceof ModelFailure)) throw error;
    return { apiKey: undefined, hasChatGptTokens: false };
  }
}

/** Writes the key to `auth.json` as Codex does. Other members are kept. Throws `LoginNotKept`. */
async function keepApiKey(codexHome: string, apiKey: string): Promise<void> {
  const file = authFileIn(codexHome);
  await writeMembers(file, { ...(await readMembers(file)), OPENAI_API_KEY: apiKey });
}

/** Removes the key from `auth.json`, and the file if nothing else is in it. Throws `LoginNotKept`. */
async function dropApiKey(codexHome: string): Promise<void> {
  const file = authFileIn(codexHome);
  const members = await readMembers(file);
  // Newer versions of Codex record that they log in with the key.
  const others = Object.entries(members).filter(
    ([name, value]) => name !== "OPENAI_API_KEY" && !(name === "auth_mode" && value === "apikey"),
  );
  if (others.length > 0) await writeMembers(file, { OPENAI_API_KEY: null, ...Object.fromEntries(others) });
  else await attempt(`remove ${file}`, () => promises.rm(file, { force: true }));
}

function authFileIn(codexHome: string): string {
  return path.join(codexHome, "auth.json");
}

/** A file that is not JSON has nothing to keep. */
async function readMembers(file: string): Promise<Fields> {
  const text = await attempt(`read ${file}`, () => readIfThere(file));
  try {
    const members: unknown = JSON.parse(text);
    return isFields(members) ? members : {};
  } catch {
    return {};
  }
}

async function readIfThere(file: string): Promise<string> {
  try {
    return await promises.readFile(file, "utf8");
  } catch (error) {
    if (errorCode(error) === "ENOENT") return "";
    throw error;
  }
}

/** Atomic, whenever the process ends. The folder is hidden from commands, so none sees the temporary file; a link stays a link. */
async function writeMembers(named: string, members: Fields): Promise<void> {
  await attempt(`write ${named}`, async () => {
    await makeFolder(path.dirname(named));
    const file = await promises.realpath(named).catch(() => named);
    const draft = `${file}.${randomUUID()}.new`;
    try {
      await promises.writeFile(draft, `${JSON.stringify(members, null, 2)}\n`, { mode: 0o600, flush: true, flag: "wx" });
      await promises.rename(draft, file);
    } finally {
      await promises.rm(draft, { force: true });
    }
  });
}

async function attempt<T>(what: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw new LoginNotKept(`Cannot ${what}: ${describe(error)}. Check the permissions of the folder.`, { cause: error });
  }
}
