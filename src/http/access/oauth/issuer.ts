import { readFile } from "node:fs/promises";
import { AppError, describe } from "../../../lib/errors.js";
import { type Fields, isFields } from "../../../lib/fields.js";
import { timeoutSignal } from "../../../lib/promises.js";
import { isTrustworthy, keyFileOf, type OAuthSettings } from "./oauthSettings.js";

/** The keys of an issuer could not be loaded. */
export class KeysUnavailable extends AppError {
  readonly code = "keys_unavailable";
}

const DEADLINE_MS = 10_000;
const MAX_BYTES = 512 * 1024;

/** Loads the issuer's key document (JWKS) from the configured place, or from where the issuer's metadata says. */
export async function loadKeyDocument(settings: OAuthSettings, signal: AbortSignal): Promise<Fields> {
  const file = keyFileOf(settings);
  if (file !== undefined) return readKeyFile(file);
  const within = AbortSignal.any([signal, timeoutSignal(DEADLINE_MS)]);
  const url = settings.jwks ?? (await findKeysOf(settings.issuer, within));
  const found = await fetchDocument(url, within);
  if (found) return found;
  throw new KeysUnavailable(`${url} is not there`);
}

async function readKeyFile(file: string): Promise<Fields> {
  try {
    return parseDocument(await readFile(file, "utf8"), file);
  } catch (error) {
    if (error instanceof KeysUnavailable) throw error;
    throw new KeysUnavailable(`the keys in ${file} cannot be read: ${describe(error)}`, { cause: error });
  }
}

/**
 * Reads the location of the keys from the issuer's metadata. The metadata must name the issuer itself, so that one issuer cannot
 * impersonate another.
 */
async function findKeysOf(issuer: string, signal: AbortSignal): Promise<string> {
  for (const url of metadataUrls(issuer)) {
    const metadata = await fetchDocument(url, signal);
    if (metadata === undefined) continue;
    if (metadata["issuer"] !== issuer) throw new KeysUnavailable(`${url} is the metadata of another issuer`);
    const { jwks_uri: keys } = metadata;
    if (typeof keys === "string" && URL.canParse(keys) && isTrustworthy(new URL(keys))) return keys;
    throw new KeysUnavailable(`${url} names no https URL for the keys`);
  }
  throw new KeysUnavailable(`no metadata found for the issuer ${issuer}`);
}

/** The locations defined by RFC 8414 and OpenID Connect Discovery. */
function metadataUrls(issuer: string): readonly string[] {
  const { origin, pathname } = new URL(issuer);
  const path = pathname.replace(/\/$/, "");
  const inserted = ["oauth-authorization-server", "openid-configuration"].map((name) => `${origin}/.well-known/${name}${path}`);
  return path === "" ? inserted : [...inserted, `${origin}${path}/.well-known/openid-configuration`];
}

/** Undefined if the server responds that there is none. */
async function fetchDocument(url: string, signal: AbortSignal): Promise<Fields | undefined> {
  try {
    const response = await fetch(url, { signal, redirect: "error", headers: { accept: "application/json" } });
    if (response.status === 404) {
      await response.body?.cancel();
      return undefined;
    }
    const text = await readLimited(response);
    if (response.status !== 200) throw new KeysUnavailable(`${url} answers with status ${response.status}`);
    return parseDocument(text, url);
  } catch (error) {
    if (error instanceof KeysUnavailable) throw error;
    throw new KeysUnavailable(`${url} cannot be reached: ${describe(rootOf(error))}`, { cause: error });
  }
}

async function readLimited(response: Response): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  // The body is a stream of bytes; the platform's types do not say so.
  for await (const chunk of (response.body ?? []) as AsyncIterable<Uint8Array>) {
    text += decoder.decode(chunk, { stream: true });
    if (text.length > MAX_BYTES) throw new Error(`it sends more than ${MAX_BYTES} bytes`);
  }
  return text + decoder.decode();
}

function parseDocument(text: string, source: string): Fields {
  try {
    const parsed: unknown = JSON.parse(text);
    if (isFields(parsed)) return parsed;
  } catch {
    // The error below omits the text, which may be anything.
  }
  throw new KeysUnavailable(`${source} is not a JSON object`);
}

/** `fetch` wraps the cause in an error that only says that it failed. */
function rootOf(error: unknown): unknown {
  return error instanceof Error && error.cause !== undefined ? rootOf(error.cause) : error;
}
