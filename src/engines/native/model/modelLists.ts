import { createHash } from "node:crypto";
import { describe } from "../../../lib/errors.js";
import { type Fields, isFields, textOrNothing } from "../../../lib/fields.js";
import { orAborted, timeoutSignal } from "../../../lib/promises.js";
import type { ModelProvider, ReasoningEffort } from "../../../threads/settings.js";
import { maskSent } from "./failures.js";
import { type CredentialSources, endpoint, providerHeaders, shownUrl } from "./provider.js";
import { readStart, sendRequest } from "./responses.js";

/** A model in its provider's list. */
export interface ListedModel {
  readonly name: string;
  /** The efforts it offers, if the list states them. */
  readonly efforts?: readonly ReasoningEffort[];
  /** Its creation time, in seconds since 1970. */
  readonly created?: number;
  /** When it will be removed. */
  readonly shutdown?: Date;
}

/** The result of a provider's model list. Only a completely read list can prove that a name is missing. */
export type ModelListing =
  | { readonly kind: "read"; readonly models: readonly ListedModel[]; readonly isWhole: boolean }
  | { readonly kind: "unread"; readonly why: string; readonly status?: number };

export interface ListSources extends CredentialSources {
  readonly userAgent: string;
}

/** A list is requested at most this often, unless a caller asks for it; a failed one is retried sooner. */
const LIST_LASTS_MS = 24 * 60 * 60_000;
const FAILURE_LASTS_MS = 60_000;
const DEADLINE_MS = 10_000;
const LONGEST_ANSWER = 4 * 1024 * 1024;
const MOST_MODELS = 5_000;
const LONGEST_NAME = 200;
/** Invisible characters and line breaks. Names that contain one are dropped, because callers and their models are shown the names. */
const UNSEEN = /[\p{C}\p{Zl}\p{Zp}]/u;
const EFFORT = /^[a-z][a-z0-9_-]{0,31}$/i;
const MOST_EFFORTS = 16;
/** Providers and keys whose lists are kept. */
const MOST_LISTS = 32;

interface KeptListing {
  readonly listing: ModelListing;
  readonly at: number;
}

/** The models of the providers in use, from `GET models`. Never requested while a call that can do without it waits. */
export class ModelLists implements AsyncDisposable {
  readonly #sources: ListSources;
  readonly #kept = new Map<string, KeptListing>();
  readonly #reading = new Map<string, Promise<ModelListing>>();
  readonly #closing = new AbortController();

  constructor(sources: ListSources) {
    this.#sources = sources;
  }

  /** The cached list, without a request. */
  known(provider: ModelProvider): ModelListing | undefined {
    const kept = this.#kept.get(this.#keyOf(provider));
    if (!kept) return undefined;
    const lasts = kept.listing.kind === "read" ? LIST_LASTS_MS : FAILURE_LASTS_MS;
    return Date.now() - kept.at < lasts ? kept.listing : undefined;
  }

  /** Requests the list. Concurrent callers share the response. Rejects only with the signal's reason. */
  async read(provider: ModelProvider, signal: AbortSignal): Promise<ModelListing> {
    const key = this.#keyOf(provider);
    const reading = this.#reading.get(key) ?? this.#begin(key, provider);
    return orAborted(reading, signal);
  }

  /** Reads a list in the background for later callers. */
  prefetch(provider: ModelProvider): void {
    if (!this.known(provider)) void this.read(provider, this.#closing.signal).catch(() => undefined);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing.abort(new Error("the engine is closed"));
    await Promise.allSettled(this.#reading.values());
  }

  #begin(key: string, provider: ModelProvider): Promise<ModelListing> {
    const signal = AbortSignal.any([this.#closing.signal, timeoutSignal(DEADLINE_MS)]);
    const reading = readList(provider, this.#sources, signal).then((listing) => {
      this.#reading.delete(key);
      this.#keep(key, listing);
      return listing;
    });
    this.#reading.set(key, reading);
    return reading;
  }

  #keep(key: string, listing: ModelListing): void {
    this.#kept.delete(key);
    this.#kept.set(key, { listing, at: Date.now() });
    for (const oldest of this.#kept.keys()) {
      if (this.#kept.size <= MOST_LISTS) break;
      this.#kept.delete(oldest);
    }
  }

  /** Another key may have access to other models. Keys themselves are not stored, not even here. */
  #keyOf(provider: ModelProvider): string {
    let headers: unknown;
    try {
      headers = providerHeaders(provider, this.#sources);
    } catch {
      headers = undefined;
    }
    const { baseUrl, queryParams } = provider;
    return createHash("sha256")
      .update(JSON.stringify([baseUrl, queryParams, headers]))
      .digest("base64");
  }
}

/** Never rejects. */
async function readList(provider: ModelProvider, sources: ListSources, signal: AbortSignal): Promise<ModelListing> {
  let own: Record<string, string> = {};
  let url: URL | undefined;
  try {
    own = providerHeaders(provider, sources);
    url = endpoint(provider, "models");
    const headers = { accept: "application/json", "user-agent": sources.userAgent, ...own };
    const response = await sendRequest(url, { env: sources.env, method: "GET", headers, signal });
    const status = response.statusCode ?? 0;
    const stop = () => response.destroy();
    signal.addEventListener("abort", stop, { once: true });
    const text = await readStart(response, LONGEST_ANSWER);
    signal.removeEventListener("abort", stop);
    if (status !== 200) return { kind: "unread", status, why: `${shownUrl(url)} returned status ${status}` };
    if (signal.aborted) return { kind: "unread", why: late(url) };
    if (text.length >= LONGEST_ANSWER) return { kind: "unread", status, why: `the list at ${shownUrl(url)} is too large to read` };
    return listingIn(text) ?? { kind: "unread", status, why: `${shownUrl(url)} did not return a list of models` };
  } catch (error) {
    if (signal.aborted && url) return { kind: "unread", why: late(url) };
    return { kind: "unread", why: maskSent(url ? `${shownUrl(url)} cannot be reached: ${describe(error)}` : describe(error), own, url) };
  }
}

function late(url: URL): string {
  return `${shownUrl(url)} did not answer within ${DEADLINE_MS / 1000} seconds`;
}

/** OpenAI's format (`data`, `id`) or Codex's own (`models`, `slug`). */
function listingIn(text: string): ModelListing | undefined {
  let answer: unknown;
  try {
    answer = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (!isFields(answer)) return undefined;
  const lists = [answer["data"], answer["models"]].filter((list) => Array.isArray(list));
  if (lists.length === 0) return undefined;
  const entries: unknown[] = lists.flat();
  const models = entries.slice(0, MOST_MODELS).flatMap(listedModel);
  // An unreadable entry, or a further page, may be the very model that seems missing.
  const isWhole = entries.length <= MOST_MODELS && models.length === entries.length && answer["has_more"] !== true;
  return { kind: "read", models, isWhole };
}

function listedModel(entry: unknown): ListedModel[] {
  if (!isFields(entry)) return [];
  const name = textOrNothing(entry["id"]) ?? textOrNothing(entry["slug"]) ?? "";
  if (name === "" || name.length > LONGEST_NAME || UNSEEN.test(name)) return [];
  const efforts = effortsIn(entry);
  const { created } = entry;
  const shutdown = dateIn(entry["shutdown_date"]);
  return [
    {
      name,
      ...(efforts.length > 0 && { efforts }),
      ...(typeof created === "number" && { created }),
      ...(shutdown && { shutdown }),
    },
  ];
}

function effortsIn(entry: Fields): ReasoningEffort[] {
  const levels: unknown = entry["supported_reasoning_levels"] ?? entry["supported_reasoning_efforts"];
  if (!Array.isArray(levels)) return [];
  const names = levels.slice(0, MOST_EFFORTS).map((level: unknown) => textOrNothing(isFields(level) ? level["effort"] : level) ?? "");
  return names.filter((name) => EFFORT.test(name));
}

/** ISO or seconds since 1970. */
function dateIn(value: unknown): Date | undefined {
  const date = typeof value === "number" ? new Date(value * 1000) : new Date(textOrNothing(value) ?? Number.NaN);
  return Number.isNaN(date.getTime()) ? undefined : date;
}
