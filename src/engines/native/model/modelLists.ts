import { createHash } from "node:crypto";
import { describe } from "../../../lib/errors.js";
import { type Fields, isFields, textOrNothing } from "../../../lib/fields.js";
import { orAborted } from "../../../lib/promises.js";
import type { ModelProvider, ReasoningEffort } from "../../../threads/settings.js";
import { maskSent } from "./failures.js";
import { readStart, sendRequest } from "./http.js";
import { type CredentialSources, endpoint, providerHeaders, shownUrl } from "./provider.js";

/** A model as its provider lists it. */
export interface ListedModel {
  readonly name: string;
  /** The efforts it offers, where the list says so. */
  readonly efforts?: readonly ReasoningEffort[];
  /** When it was made, in seconds since 1970. */
  readonly created?: number;
  /** From when on it is not offered any more. */
  readonly shutdown?: Date;
}

/** What asking a provider for its models came to. Only a list that was read whole can lack a name. */
export type ModelListing =
  | { readonly kind: "read"; readonly models: readonly ListedModel[]; readonly isWhole: boolean }
  | { readonly kind: "unread"; readonly why: string; readonly status?: number };

export interface ListSources extends CredentialSources {
  readonly userAgent: string;
}

/** A list is asked for at most this often, unless somebody wants to know; one that could not be read sooner. */
const LIST_LASTS_MS = 24 * 60 * 60_000;
const FAILURE_LASTS_MS = 60_000;
const DEADLINE_MS = 10_000;
const LONGEST_ANSWER = 4 * 1024 * 1024;
const MOST_MODELS = 5_000;
const LONGEST_NAME = 200;
/** Providers and keys whose lists are kept. */
const MOST_LISTS = 32;

interface KeptListing {
  readonly listing: ModelListing;
  readonly at: number;
}

/** What the providers of this process offer, as `GET models` told it. Never asked while a call waits that could do without. */
export class ModelLists implements AsyncDisposable {
  readonly #sources: ListSources;
  readonly #kept = new Map<string, KeptListing>();
  readonly #reading = new Map<string, Promise<ModelListing>>();
  readonly #closing = new AbortController();

  constructor(sources: ListSources) {
    this.#sources = sources;
  }

  /** What is known without asking anybody. */
  known(provider: ModelProvider): ModelListing | undefined {
    const kept = this.#kept.get(this.#keyOf(provider));
    if (!kept) return undefined;
    const lasts = kept.listing.kind === "read" ? LIST_LASTS_MS : FAILURE_LASTS_MS;
    return Date.now() - kept.at < lasts ? kept.listing : undefined;
  }

  /** Asks the provider. Whoever asks meanwhile gets the same answer. Rejects only with the signal's reason. */
  async read(provider: ModelProvider, signal: AbortSignal): Promise<ModelListing> {
    const key = this.#keyOf(provider);
    const reading = this.#reading.get(key) ?? this.#begin(key, provider);
    return orAborted(reading, signal);
  }

  /** Reads a list for those who come later. */
  prefetch(provider: ModelProvider): void {
    if (!this.known(provider)) void this.read(provider, this.#closing.signal).catch(() => undefined);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing.abort(new Error("the engine is closed"));
    await Promise.allSettled(this.#reading.values());
  }

  #begin(key: string, provider: ModelProvider): Promise<ModelListing> {
    const signal = AbortSignal.any([this.#closing.signal, AbortSignal.timeout(DEADLINE_MS)]);
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

  /** Another key may be offered other models. Keys are not kept, not even here. */
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
    if (status !== 200) return { kind: "unread", status, why: `${shownUrl(url)} answered with status ${status}` };
    if (signal.aborted) return { kind: "unread", why: late(url) };
    if (text.length >= LONGEST_ANSWER) return { kind: "unread", status, why: `the list at ${shownUrl(url)} is too long to be read` };
    return listingIn(text) ?? { kind: "unread", status, why: `${shownUrl(url)} answered with something that is no list of models` };
  } catch (error) {
    if (signal.aborted && url) return { kind: "unread", why: late(url) };
    return { kind: "unread", why: maskSent(url ? `${shownUrl(url)} cannot be reached: ${describe(error)}` : describe(error), own, url) };
  }
}

function late(url: URL): string {
  return `${shownUrl(url)} did not answer within ${DEADLINE_MS / 1000} seconds`;
}

/** OpenAI's form (`data`, `id`) or Codex's own (`models`, `slug`). */
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
  // An entry that cannot be read, or a next page, may be the very model that is missed.
  const isWhole = entries.length <= MOST_MODELS && models.length === entries.length && answer["has_more"] !== true;
  return { kind: "read", models, isWhole };
}

function listedModel(entry: unknown): ListedModel[] {
  if (!isFields(entry)) return [];
  const name = textOrNothing(entry["id"]) ?? textOrNothing(entry["slug"]) ?? "";
  if (name === "" || name.length > LONGEST_NAME || /\p{Cc}/u.test(name)) return [];
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
  return levels.flatMap((level: unknown) => textOrNothing(isFields(level) ? level["effort"] : level) ?? []);
}

/** ISO or seconds since 1970. */
function dateIn(value: unknown): Date | undefined {
  const date = typeof value === "number" ? new Date(value * 1000) : new Date(textOrNothing(value) ?? Number.NaN);
  return Number.isNaN(date.getTime()) ? undefined : date;
}
