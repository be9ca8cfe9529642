import { type Attack, describeAttacks } from "./attack.js";
import type { Ground } from "./ground.js";

/** Settings of a provider with a key in every place, so that the provider can return each of them. */
function wholeConfig(ground: Ground): (url: string) => string {
  const key = ground.secret("key in the address");
  const header = ground.secret("key in a header");
  return (url) =>
    [
      'model = "mock-model"',
      'model_provider = "mock"',
      "[model_providers.mock]",
      'name = "mock"',
      `base_url = "${url}"`,
      'wire_api = "responses"',
      `query_params = { "api-key" = "${key}", version = "2026-01-01" }`,
      `http_headers = { "x-key" = "${header}" }`,
      "request_max_retries = 0",
      "stream_max_retries = 0",
      "",
    ].join("\n");
}

/** Ways in which a provider returns what it received. */
const ECHOES: Readonly<
  Record<string, (said: string) => { status?: number; body?: string; stream?: string; headers?: Record<string, string> }>
> = {
  "an error's message": (said) => ({
    status: 400,
    body: JSON.stringify({ error: { message: `cannot serve ${said}`, type: "x", code: "y" } }),
  }),
  "an error that is plain text": (said) => ({ status: 500, body: `internal error at ${said}` }),
  "a page": (said) => ({ status: 404, body: `<html><body>Not found: ${said}</body></html>` }),
  "a redirect": (said) => ({ status: 302, body: said, headers: { location: said } }),
  "a failed answer": (said) => ({
    status: 200,
    stream: `event: response.failed\ndata: ${JSON.stringify({ type: "response.failed", response: { id: "r", status: "failed", error: { code: "server_error", message: said } } })}\n\n`,
  }),
  "a body that is not a stream": (said) => ({ status: 200, stream: `<html>${said}</html>` }),
  "an event of an unknown kind": (said) => ({
    status: 200,
    stream: `event: error\ndata: ${JSON.stringify({ type: "error", message: said })}\n\n`,
  }),
};

describeAttacks(
  "a provider",
  Object.entries(ECHOES).map(([how, echo], at): Attack => {
    return {
      name: `show callers the keys that it received, by ${how}`,
      ...(at === 0 && { quick: true }),
      victim: (ground) => ({
        wholeConfig: wholeConfig(ground),
        model: {
          respond: ({ url, headers }) => echo(`${url} ${decodeURIComponent(url)} with ${JSON.stringify(headers)}`),
        },
      }),
      attempt: async (_, victim) => {
        await victim.turn("!say done");
      },
      standIn: (ground) => ground.see("the error", `400 for /v1/responses?api-key=${ground.secret("key in the address")}`),
    };
  }),
);
