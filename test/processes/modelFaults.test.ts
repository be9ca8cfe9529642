import { describe, expect, it } from "vitest";
import { completed, failed } from "../support/callResults.js";
import { startLoopback } from "../support/http/loopback.js";
import { mockProvider, NOBODY_LISTENS } from "../support/model/mockProvider.js";
import { type ResponsesServerOptions, startResponsesServer } from "../support/model/responsesServer.js";
import { type McpServer, startServer } from "../support/processes/mcpServer.js";

const NO_RETRIES = ["request_max_retries = 0", "stream_max_retries = 0"];

function startOn(baseUrl: string, provider: readonly string[] = NO_RETRIES, env: Record<string, string> = {}): Promise<McpServer> {
  return startServer({ args: ["--engine", "native"], config: mockProvider(baseUrl, provider), env });
}

interface Fault {
  /** The model's response to the first request; it answers later ones normally. */
  readonly first: NonNullable<ResponsesServerOptions["respond"]>;
  readonly provider?: readonly string[];
  readonly why: (url: string) => unknown;
}

const FAULTS: Readonly<Record<string, Fault>> = {
  "refuses the key": {
    first: () => ({ status: 401, body: '{"error":{"message":"bad key"}}' }),
    why: () =>
      "unexpected status 401 Unauthorized:\nProvider `mock` requires a key: name the environment variable that contains it with env_key in [model_providers.mock] of config.toml.",
  },
  "forbids the request": {
    first: () => ({ status: 403, body: "not for you" }),
    why: (url) => `unexpected status 403 Forbidden: not for you, url: ${url}/responses`,
  },
  "has had too many requests": {
    first: () => ({ status: 429, body: "{}" }),
    why: () => "exceeded retry limit, last status: 429 Too Many Requests",
  },
  "asks for a wait of a day before a retry": {
    first: () => ({ status: 429, body: "{}", headers: { "retry-after": "86400" } }),
    provider: ["request_max_retries = 4"],
    why: () =>
      expect.stringMatching(
        /^exceeded retry limit, last status: 429 Too Many Requests\nThe limit resets at 20\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ \(in 24 h\)\.$/,
      ),
  },
  "breaks down": {
    first: () => ({ status: 500, body: "oops" }),
    why: () => "We're currently experiencing high demand, which may cause temporary errors.\nThe provider says: oops",
  },
  "cuts the connection": {
    first: (_, __, { events }) => ({ events: events.slice(0, 4), ending: "cut" }),
    why: () => "stream disconnected before completion: Transport error: network error: error decoding response body",
  },
  "talks garbage": {
    first: () => ({ stream: "data: {not json\n\n\u0000\u0001 nor a line\n\ndata: 5\n\ndata: []\n\nevent: x\n\n" }),
    why: () =>
      expect.stringMatching(
        /^stream disconnected before completion: stream closed before response\.completed\nNo event of the Responses API came /,
      ),
  },
  "answers with a web page": {
    first: () => ({ stream: "<html><body>Sign in to the network</body></html>", headers: { "content-type": "text/html" } }),
    why: () =>
      expect.stringMatching(
        /^stream disconnected before completion: stream closed before response\.completed\nNo event of the Responses API came \(content type: text\/html\)\. Check /,
      ),
  },
  "falls silent": {
    first: (_, __, { events }) => ({ events: events.slice(0, 4), ending: "hang" }),
    provider: [...NO_RETRIES, "stream_idle_timeout_ms = 2000"],
    why: () => SILENT,
  },
};

const SILENT =
  "stream disconnected before completion: idle timeout waiting for SSE\nNo event came for 2 s (stream_idle_timeout_ms in config.toml).";

describe.concurrent("a model that", () => {
  it.each(Object.entries(FAULTS))("%s fails the call, and the thread continues", async (_, { first, provider, why }) => {
    await using model = await startResponsesServer({
      respond: (request, index, scripted) => (index === 0 ? first(request, index, scripted) : undefined),
    });
    await using server = await startOn(model.url, provider);
    const call = server.call("codex", { prompt: "!say one two three" });
    const threadId = await call.threadId();
    expect(await call.result()).toEqual(failed(threadId, why(model.url), "native"));
    expect(call.events.at(-1)).toMatchObject({ type: "error", message: why(model.url) });
    expect(await server.call("codex-reply", { threadId, prompt: "!say on" }).result()).toEqual(completed(threadId, "on", "native"));
  });

  it("cannot be reached fails the call, and the thread continues once it can", async () => {
    await using server = await startOn(NOBODY_LISTENS);
    const call = server.call("codex", { prompt: "!say one" });
    expect(await call.result()).toEqual(
      failed(
        await call.threadId(),
        `stream disconnected before completion: error sending request for url (${NOBODY_LISTENS}/responses)\n` +
          "Nothing accepts connections at 127.0.0.1:9: start the provider, or correct its base_url in config.toml.",
        "native",
      ),
    );
    expect(await server.request("ping")).toEqual({});
  });

  it("never stops sending is stopped, and its output is shown to no client", async () => {
    const noise = `data: ${"x".repeat(1024 * 1024)}\n\n`;
    await using model = await startLoopback((_, response) => {
      response.writeHead(200, { "content-type": "text/event-stream" });
      const talk = () => {
        while (!response.destroyed && response.write(noise));
      };
      response.on("drain", talk);
      talk();
    });
    await using server = await startOn(`${model.origin}/v1`);
    const call = server.call("codex", { prompt: "hi" });
    expect(await call.result()).toEqual(
      failed(await call.threadId(), "stream disconnected before completion: the answer does not end", "native"),
    );
    await model.allLeft();
  });

  it("sends only comments is given up after the idle time", async () => {
    await using model = await startLoopback((_, response) => {
      response.writeHead(200, { "content-type": "text/event-stream" });
      const beat = setInterval(() => response.write(": still here\n\n"), 20);
      response.once("close", () => clearInterval(beat));
    });
    await using server = await startOn(`${model.origin}/v1`, [...NO_RETRIES, "stream_idle_timeout_ms = 2000"]);
    const call = server.call("codex", { prompt: "hi" });
    expect(await call.result()).toEqual(failed(await call.threadId(), SILENT, "native"));
  });

  it("fails after a message leaves no answer, even for a server that was started again", async () => {
    const said = { type: "message", role: "assistant", content: [{ type: "output_text", text: "I will look at it." }] };
    const events = [
      { type: "response.output_item.done", item: said },
      { type: "response.failed", response: { error: { code: "invalid_prompt", message: "no such luck" } } },
    ];
    await using model = await startResponsesServer({
      respond: () => ({ stream: events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join("") }),
    });
    await using before = await startOn(model.url);
    const call = before.call("codex", { prompt: "hi" });
    const threadId = await call.threadId();
    expect(await call.result()).toEqual(failed(threadId, "no such luck", "native"));
    await using after = await startServer({
      stage: before.stage,
      args: ["--engine", "native"],
      config: mockProvider(model.url, NO_RETRIES),
    });
    for (const server of [before, after]) {
      expect(await server.call("codex-wait", { threadId }).result()).toMatchObject({
        isError: true,
        structuredContent: { status: "failed", content: expect.stringContaining("its last one failed (no such luck)") },
      });
      expect(await server.call("codex-threads", { threadId }).result()).toMatchObject({
        content: [
          {
            text: expect.stringContaining(
              "\nThis turn failed: no such luck\nGo on with codex-reply.\n[user] hi\n[agent] I will look at it.",
            ),
          },
        ],
        structuredContent: { state: "idle", lastTurn: "failed", error: "no such luck" },
      });
    }
  });

  it("repeats the key in its refusal does not expose it in events or results", async () => {
    const key = "sk-very-secret-0123456789abcdef";
    await using model = await startResponsesServer({
      respond: ({ headers }) => ({ status: 403, body: `key ${headers.authorization} is not known` }),
    });
    await using server = await startOn(model.url, [...NO_RETRIES, 'env_key = "MOCK_KEY"'], { MOCK_KEY: key });
    const call = server.call("codex", { prompt: "hi" });
    const result = await call.result();
    expect(model.requests[0]?.headers.authorization).toEqual(`Bearer ${key}`);
    expect(JSON.stringify([result, call.events, server.errorLines])).not.toContain(key);
  });
});

describe.concurrent("a model that recovers", () => {
  it("gets the request again, each time with a notice", async () => {
    await using model = await startResponsesServer({
      respond: (_, index) => (index < 1 ? { status: 429, body: "{}", headers: { "retry-after": "0.2" } } : undefined),
    });
    await using server = await startOn(model.url, ["request_max_retries = 2"]);
    const call = server.call("codex", { prompt: "!say at last" });
    expect(await call.result()).toEqual(completed(await call.threadId(), "at last", "native"));
    expect(call.events.filter(({ type }) => type === "background_event")).toMatchObject([{ message: expect.stringContaining("1/2") }]);
    expect(model.requests.length).toBe(2);
  });

  it("after a broken stream gets the request again, and its output is kept once", async () => {
    await using model = await startResponsesServer({
      respond: (_, index, { events }) => (index === 0 ? { events: events.slice(0, 5), ending: "cut" } : undefined),
    });
    await using server = await startOn(model.url, ["stream_max_retries = 1"]);
    const call = server.call("codex", { prompt: "!say one two three" });
    const threadId = await call.threadId();
    expect(await call.result()).toEqual(completed(threadId, "one two three", "native"));
    expect(call.events.filter(({ type }) => type === "stream_error")).toMatchObject([
      { message: "Reconnecting... 1/1", codex_error_info: { response_stream_disconnected: { http_status_code: null } } },
    ]);
    await server.call("codex-reply", { threadId, prompt: "!say on" }).result();
    expect(model.requests.at(-1)?.body.input.slice(-3)).toMatchObject(
      ["!say one two three", "one two three", "!say on"].map((text) => ({ content: [{ text }] })),
    );
  });

  it("a call that is cancelled before a retry ends at once", async () => {
    await using model = await startResponsesServer({ respond: () => ({ status: 500, headers: { "retry-after": "60" } }) });
    await using server = await startOn(model.url, ["request_max_retries = 2"]);
    const call = server.call("codex", { prompt: "hi" });
    await call.event("background_event");
    server.cancel(call.id);
    expect(await call.event("turn_aborted")).toMatchObject({ type: "turn_aborted", reason: "interrupted" });
    expect(model.requests).toHaveLength(1);
  });
});
