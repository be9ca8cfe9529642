import { adviceAboutKey } from "../engines/native/model/advice.js";
import { listedAs } from "../engines/native/model/generalModels.js";
import { useAnother } from "../engines/native/model/modelChoice.js";
import { type ListedModel, type ModelListing, ModelLists } from "../engines/native/model/modelLists.js";
import { checkEffort, retirementOf } from "../engines/native/model/modelTraits.js";
import { endpoint, providerHeaders, shownUrl } from "../engines/native/model/provider.js";
import { describe } from "../lib/errors.js";
import { VERSION } from "../lib/version.js";
import { DEFAULT_MODEL, type ModelProvider, type ThreadSettings } from "../threads/settings.js";

/** One line of the doctor's report. */
export interface DoctorFinding {
  readonly verdict: "ok" | "note" | "fails";
  readonly subject: string;
  readonly text: string;
}

interface Sources {
  readonly codexHome: string;
  readonly env: NodeJS.ProcessEnv;
}

/** Checks the native engine: its provider, key, model and reasoning effort. */
export async function nativeFindings(thread: ThreadSettings, sources: Sources): Promise<DoctorFinding[]> {
  const { provider, model } = thread;
  const engine: DoctorFinding = { verdict: "ok", subject: "engine", text: `native, model ${model}, provider ${provider.id}` };
  if (provider.wireApi !== "responses")
    return [engine, fails("provider", `wire_api = "${provider.wireApi}" is not supported; set it to "responses"`)];
  let headers: Record<string, string>;
  try {
    headers = providerHeaders(provider, sources);
  } catch (error) {
    return [engine, fails("credentials", describe(error))];
  }
  const credentials: DoctorFinding = {
    verdict: "ok",
    subject: "credentials",
    text: "authorization" in headers ? "found" : "none needed",
  };
  return [engine, credentials, ...(await answers(thread, sources))];
}

async function answers(thread: ThreadSettings, sources: Sources): Promise<DoctorFinding[]> {
  const { provider } = thread;
  let url: string;
  try {
    url = shownUrl(endpoint(provider, "models"));
  } catch (error) {
    return [fails("provider", describe(error))];
  }
  await using lists = new ModelLists({ ...sources, userAgent: `codex-mcp-server/${VERSION}` });
  const listing = await lists.read(provider, new AbortController().signal);
  return [providerFinding(url, listing, () => adviceAboutKey(provider, sources)), ...modelFindings(thread, listing)];
}

function providerFinding(url: string, listing: ModelListing, advice: () => string): DoctorFinding {
  if (listing.kind === "read") return { verdict: "ok", subject: "provider", text: `${url} answered with ${listing.models.length} models` };
  const { status, why } = listing;
  if (status === undefined) return fails("provider", why);
  if (status === 401) return fails("provider", `${url} refused the key (status ${status}). ${advice()}`);
  // A key may be restricted to the requests of turns.
  if (status === 403)
    return {
      verdict: "note",
      subject: "provider",
      text: `${url} returned status 403: the key may not read the list of models, but calls may work`,
    };
  return { verdict: "ok", subject: "provider", text: status === 200 ? why : `${url} answered (status ${status}), and lists no models` };
}

const DAY_MS = 24 * 60 * 60_000;
/** How long before its shutdown date a model is reported. */
const WARNING_DAYS = 30;

function modelFindings(thread: ThreadSettings, listing: ModelListing): DoctorFinding[] {
  const listed = listing.kind === "read" ? listedAs(thread.model, listing.models) : undefined;
  return [modelFinding(thread, listing, listed), ...effortFindings(thread, listed)].filter((finding) => finding !== undefined);
}

function modelFinding(thread: ThreadSettings, listing: ModelListing, listed: ListedModel | undefined): DoctorFinding | undefined {
  const { model, modelIsOurs, provider } = thread;
  if (listing.kind === "unread") return retirement(thread);
  const { shutdown } = listed ?? {};
  const day = shutdown?.toISOString().slice(0, 10);
  const instead = useAnother(
    thread,
    listing.models.filter(({ name }) => name !== model),
  );
  if (shutdown && shutdown.getTime() <= Date.now()) return fails("model", `${model} was shut down on ${day}. ${instead}`);
  if (shutdown && shutdown.getTime() <= Date.now() + WARNING_DAYS * DAY_MS)
    return { verdict: "note", subject: "model", text: `${model} will be shut down on ${day}: name another one by then` };
  if (listed) return { verdict: "ok", subject: "model", text: `${model} is offered` };
  const why = useAnother(thread, listing.models);
  // Calls still work where the list is incomplete, or where another model may be used.
  if (modelIsOurs || !listing.isWhole || namesDeployments(provider)) return { verdict: "note", subject: "model", text: why };
  return fails("model", why);
}

/** Azure lists models, but requests name deployments. */
function namesDeployments({ baseUrl, queryParams }: ModelProvider): boolean {
  return "api-version" in queryParams || /\.azure(-api)?\.(com|net)\b/i.test(baseUrl);
}

/** Only for OpenAI: other providers may still have models that OpenAI has retired. */
function retirement({ model, provider }: ThreadSettings): DoctorFinding | undefined {
  const words = provider.id === "openai" ? retirementOf(model) : undefined;
  return words === undefined ? undefined : fails("model", `${model} ${words}: use ${DEFAULT_MODEL}, or name none`);
}

function effortFindings(thread: ThreadSettings, listed: ListedModel | undefined): DoctorFinding[] {
  try {
    checkEffort(thread, listed?.efforts);
    return [];
  } catch (error) {
    return [fails("effort", describe(error))];
  }
}

function fails(subject: string, text: string): DoctorFinding {
  return { verdict: "fails", subject, text };
}
