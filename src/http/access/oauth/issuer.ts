import { readFile } from "node:fs/promises";
import { AppError, describe } from "../../../lib/errors.js";
import { type Fields, isFields } from "../../../lib/fields.js";
import { isTrustworthy, keyFileOf, type OAuthSettings } from "./oauthSettings.js";

/** The keys of an issuer could not be had. */
export class KeysUnavailable extends AppError {
  readonly code = "keys_unavailable";
}

const DEADLINE_MS = 10_000;
const MAX_BYTES = 512 * 1024;

/** The document with an issuer's keys (a JWKS), from where the settings or the issuer itself say it is. */
export async function loadKeyDocument(settings: OAuthSettings, signal: AbortSignal): Promise<Fields> {
  const file = keyFileOf(settings);
  if (file !== undefined) return readKeyFile(file);
  const within = AbortSignal.any([signal, AbortSignal.timeout(DEADLINE_MS)]);
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

/** An issuer says in its metadata where its keys are. That it also says its own name keeps one issuer from standing in for another. */
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

/** The places that RFC 8414 and OpenID Connect Discovery give to it. */
function metadataUrls(issuer: string): readonly string[] {
  const { origin, pathname } = new URL(issuer);
  const path = pathname.replace(/\/$/, "");
  const inserted = ["oauth-authorization-server", "openid-configuration"].map((name) => `${origin}/.well-known/${name}${path}`);
  return path === "" ? inserted : [...inserted, `${origin}${path}/.well-known/openid-configuration`];
}

/** Undefined when the server says that there is none. */
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
  // The body is a stream of bytes; the platform's types leave that open.
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
    // Said below, without the text: it may be anything.
  }
  throw new KeysUnavailable(`${source} is not a JSON object`);
}

/** `fetch` wraps what happened in an error that only says that it failed. */
function rootOf(error: unknown): unknown {
  return error instanceof Error && error.cause !== undefined ? rootOf(error.cause) : error;
}
