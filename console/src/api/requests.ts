import type { Problem } from "../../../src/api/schemas/common.js";

/** Relative to the page: behind a reverse proxy the server may be below any path. */
const API = new URL("../api/v1/", document.baseURI);

/** Smaller differences between the clocks are ignored: the server's time is in whole seconds, and the response took some time. */
const SAME_CLOCK_MS = 3_000;
let serverAheadMs = 0;

function noteTime(date: string | null): void {
  const aheadMs = Date.parse(date ?? "") - Date.now();
  if (!Number.isNaN(aheadMs)) serverAheadMs = Math.abs(aheadMs) < SAME_CLOCK_MS ? 0 : aheadMs;
}

/** The time by the server's clock, to which deadlines and the times of threads refer. */
export function serverNow(): number {
  return Date.now() + serverAheadMs;
}

/** A request that the server refused, or that never reached it. */
export class ApiFailure extends Error {
  constructor(
    /** 0 if there was no response. */
    readonly status: number,
    /** The server's error code; `unreachable` if there was no response. */
    readonly code: string,
    message: string,
    readonly problem?: Problem,
  ) {
    super(message);
  }
}

export function apiUrl(path: string, query: Readonly<Record<string, string | number | undefined>> = {}): URL {
  const url = new URL(path, API);
  for (const [name, value] of Object.entries(query)) if (value !== undefined) url.searchParams.set(name, String(value));
  return url;
}

interface RequestOptions {
  readonly method?: "GET" | "POST" | "PATCH" | "DELETE";
  readonly query?: Readonly<Record<string, string | number | undefined>>;
  readonly body?: unknown;
  readonly signal?: AbortSignal | undefined;
}

/** Throws `ApiFailure`. The caller names the type of the response: the server checks its responses against the same schemas. */
export async function request<Answer>(path: string, { method = "GET", query, body, signal }: RequestOptions = {}): Promise<Answer> {
  const response = await reached(apiUrl(path, query), {
    method,
    ...(signal && { signal }),
    ...(body !== undefined && { body: JSON.stringify(body), headers: { "content-type": "application/json" } }),
  });
  if (!response.ok) throw await failureOf(response);
  return (response.status === 204 ? undefined : await response.json()) as Answer;
}

/** Throws `ApiFailure` if there was no response; an abort is rethrown unchanged. */
export async function reached(url: URL, init: RequestInit): Promise<Response> {
  try {
    const response = await fetch(url, { ...init, credentials: "same-origin", cache: "no-store" });
    noteTime(response.headers.get("date"));
    return response;
  } catch (error) {
    if (init.signal?.aborted) throw error;
    throw new ApiFailure(0, "unreachable", "The server does not answer.");
  }
}

export async function failureOf(response: Response): Promise<ApiFailure> {
  const text = await response.text().catch(() => "");
  const problem = problemIn(text);
  const why = problem ? [problem.detail, problem.advice].filter(Boolean).join(" ") : text.slice(0, 300) || response.statusText;
  return new ApiFailure(response.status, problem?.code ?? "unknown", why || `The server answered ${response.status}.`, problem);
}

function problemIn(text: string): Problem | undefined {
  try {
    const parsed: unknown = JSON.parse(text);
    const isProblem = typeof parsed === "object" && parsed !== null && "detail" in parsed && "code" in parsed;
    return isProblem ? (parsed as Problem) : undefined;
  } catch {
    return undefined;
  }
}
