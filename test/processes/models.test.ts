import { describe, expect, it } from "vitest";
import { startLoopback } from "../support/http/loopback.js";
import { mockProvider } from "../support/model/mockProvider.js";
import { type ResponsesServer, startResponsesServer } from "../support/model/responsesServer.js";
import { type McpServer, startServer } from "../support/processes/mcpServer.js";
import { valueAt } from "../support/scenarios/scenario.js";

interface Newcomer extends AsyncDisposable {
  readonly server: McpServer;
  readonly model: ResponsesServer;
}

/** A user with only an API key, whose provider has these models. */
async function newcomer(models: () => readonly string[], args: readonly string[] = []): Promise<Newcomer> {
  const model = await startResponsesServer({ models });
  const env = { OPENAI_API_KEY: "sk-newcomer", OPENAI_BASE_URL: model.url };
  const server = await startServer({ args: ["--engine", "native", ...args], env });
  return {
    server,
    model,
    async [Symbol.asyncDispose]() {
      await server[Symbol.asyncDispose]();
      await model.close();
    },
  };
}

async function call(server: McpServer, tool: string, args: Readonly<Record<string, unknown>>): Promise<unknown> {
  return server.call(tool, args).result();
}

const asked = ({ requests }: ResponsesServer) => requests.map(({ body }) => body.model);
/** The text for a model that does not receive `structuredContent`. */
const textOf = (result: unknown) => (valueAt(result, "content") as { text: string }[]).map(({ text }) => text).join("\n");
const said = (result: unknown) => JSON.stringify(result);

describe.concurrent("the first call of a newcomer", () => {
  it("is answered by a provider that has only current models, with one request", async () => {
    await using pair = await newcomer(() => ["gpt-6.1-sol", "gpt-6-sol", "gpt-6-luna"]);
    const result = await call(pair.server, "codex", { prompt: "!say hello" });
    expect([valueAt(result, "structuredContent.content"), asked(pair.model)]).toEqual(["hello", ["gpt-6.1-sol"]]);
    expect(pair.model.requests[0]?.body).toMatchObject({
      reasoning: { effort: "low" },
      text: { verbosity: "low" },
      parallel_tool_calls: true,
    });
    expect(said(result)).not.toContain("was used");
  });

  it("is answered by a provider that has only older ones, and the result says which was used", async () => {
    await using pair = await newcomer(() => ["gpt-5.1", "gpt-5.2", "text-embedding-3-large"]);
    const result = await call(pair.server, "codex", { prompt: "!say hello" });
    expect([valueAt(result, "structuredContent.content"), asked(pair.model)]).toEqual(["hello", ["gpt-6.1-sol", "gpt-5.2"]]);
    const sentence = "Model `gpt-5.2` was used: provider `openai` does not offer `gpt-6.1-sol`.";
    expect([textOf(result), said(valueAt(result, "structuredContent"))]).toEqual([
      expect.stringContaining(sentence),
      expect.stringContaining(sentence),
    ]);
    const reply = await call(pair.server, "codex-reply", { threadId: valueAt(result, "structuredContent.threadId"), prompt: "!say again" });
    expect(valueAt(reply, "structuredContent.content")).toBe("again");
    // Once the list is known, no request is wasted, and a new thread names the model it uses.
    const later = pair.server.call("codex", { prompt: "!say new thread" });
    expect(textOf(await later.result())).toContain(sentence);
    expect(await later.event("session_configured")).toMatchObject({ model: "gpt-5.2" });
    expect(asked(pair.model).slice(2)).toEqual(["gpt-5.2", "gpt-5.2"]);
  });

  it("uses its tools with the other model", async () => {
    await using pair = await newcomer(() => ["gpt-4.1"], ["-s", "workspace-write", "-a", "never"]);
    const result = await call(pair.server, "codex", { prompt: "!shell echo hi\n!say done" });
    expect(valueAt(result, "structuredContent.content")).toBe("done");
    expect(pair.model.requests.at(-1)?.body).toMatchObject({ model: "gpt-4.1", reasoning: null });
  });

  it("with `latest` is answered too, and later calls by the newest model", async () => {
    await using pair = await newcomer(() => ["gpt-6.1-sol", "gpt-6.3-sol"]);
    for (const prompt of ["!say one", "!say two"]) await call(pair.server, "codex", { prompt, model: "latest" });
    await call(pair.server, "codex-models", {});
    await call(pair.server, "codex", { prompt: "!say three", model: "latest" });
    expect([asked(pair.model)[0], asked(pair.model)[2]]).toEqual(["gpt-6.1-sol", "gpt-6.3-sol"]);
  });
});

describe.concurrent("a model named explicitly", () => {
  it("and that does not exist is an error that says what to use, after one request", async () => {
    await using pair = await newcomer(() => ["gpt-6.1-sol", "gpt-6-sol"]);
    const result = await call(pair.server, "codex", { prompt: "!say no", model: "gpt-5.2-codex" });
    expect(valueAt(result, "isError")).toBe(true);
    expect(said(result)).toContain("does not offer the model `gpt-5.2-codex`: use `gpt-6.1-sol` instead");
    expect(asked(pair.model)).toEqual(["gpt-5.2-codex"]);
  });

  it("and that only its provider knows is used, whatever our table says", async () => {
    await using pair = await newcomer(() => ["house-model"]);
    const result = await call(pair.server, "codex", {
      prompt: "!say yes",
      model: "house-model",
      config: { model_reasoning_effort: "colossal" },
    });
    expect(valueAt(result, "structuredContent.content")).toBe("yes");
    expect(pair.model.requests[0]?.body).toMatchObject({ reasoning: { effort: "colossal" } });
  });

  it("and that vanishes between two turns of its thread is replaced, and the result says so", async () => {
    let models = ["gpt-6-sol", "gpt-5.5"];
    await using pair = await newcomer(() => models);
    const first = await call(pair.server, "codex", { prompt: "!say one", model: "gpt-6-sol" });
    models = ["gpt-5.5"];
    const second = await call(pair.server, "codex-reply", { threadId: valueAt(first, "structuredContent.threadId"), prompt: "!say two" });
    expect(valueAt(second, "structuredContent.content")).toBe("two");
    expect(said(second)).toContain("Model `gpt-5.5` was used: provider `openai` does not offer `gpt-6-sol`.");
  });

  it("with a current effort in the configuration gets that effort", async () => {
    await using pair = await newcomer(() => ["gpt-6.1-sol"], ["-c", "model_reasoning_effort=max"]);
    await call(pair.server, "codex", { prompt: "!say yes" });
    await call(pair.server, "codex", { prompt: "!say yes", config: { model_reasoning_effort: "ultra" } });
    expect(pair.model.requests.map(({ body }) => body["reasoning"])).toMatchObject([{ effort: "max" }, { effort: "xhigh" }]);
  });

  it("with an effort that it does not offer is refused before any request", async () => {
    await using pair = await newcomer(() => ["gpt-6.1-sol"]);
    const result = await call(pair.server, "codex", { prompt: "!say no", config: { model_reasoning_effort: "minimal" } });
    expect(valueAt(result, "isError")).toBe(true);
    expect(said(result)).toContain("one of low, medium, high, xhigh, max, ultra");
    expect(asked(pair.model)).toEqual([]);
  });
});

describe.concurrent("with the tools of Codex 0.92.0", () => {
  const ORIGINAL = ["--tools", "codex-original"];

  it("a default model is replaced too, with a warning", async () => {
    await using pair = await newcomer(() => ["gpt-5.5"], ORIGINAL);
    const first = pair.server.call("codex", { prompt: "!say hello" });
    expect(valueAt(await first.result(), "structuredContent.content")).toBe("hello");
    expect(said(first.events)).toContain("Model `gpt-5.5` was used");
  });

  it("a failure is worded as recorded, without advice", async () => {
    await using pair = await newcomer(() => ["gpt-5.5"], ORIGINAL);
    const result = await call(pair.server, "codex", { prompt: "!say no", model: "gpt-5.2-codex" });
    expect(textOf(result)).toBe(
      `unexpected status 404 Not Found: {"error":{"message":"The model \`gpt-5.2-codex\` does not exist or you do not have access to it.","type":"invalid_request_error","param":null,"code":"model_not_found"}}, url: ${pair.model.url}/responses`,
    );
  });
});

describe.concurrent("an account", () => {
  it("reports its limits once a model has answered", async () => {
    await using model = await startResponsesServer({
      respond: () => ({
        headers: {
          "x-codex-primary-used-percent": "41",
          "x-codex-primary-window-minutes": "300",
          "x-codex-primary-reset-at": "1790000000",
        },
      }),
    });
    await using server = await startServer({ args: ["--engine", "native"], config: mockProvider(model.url) });
    const result = await call(server, "codex", { prompt: "!say hi" });
    expect(valueAt(result, "structuredContent.rateLimits.primary.usedPercent")).toBe(41);
    expect(said(await call(server, "codex-account", { action: "state" }))).toContain(
      "41 % of the limit of 5 h used; resets at 2026-09-21T14:13:20Z",
    );
  });

  it.each([
    ["the key is refused", 401, {}, {}, /refused the key from environment variable OPENAI_API_KEY\. Replace it there/],
    [
      "nothing is left of the plan",
      429,
      { error: { type: "usage_limit_reached", plan_type: "plus", resets_in_seconds: 5400 } },
      {},
      /The limit resets at 20\d\d-.*Z \(in 9[01] min\)/,
    ],
    ["the money is gone", 429, { error: { code: "insufficient_quota" } }, {}, /has no quota left: check its plan and billing/],
    [
      "it was asked too often",
      429,
      {},
      { "x-ratelimit-remaining-tokens": "0", "x-ratelimit-reset-tokens": "6m0s" },
      /The limit resets at 20\d\d-.*Z \(in [67] min\)/,
    ],
  ])("says what helps when %s", async (_what, status, body, headers, why) => {
    await using provider = await startLoopback((_, response) => void response.writeHead(status, headers).end(JSON.stringify(body)));
    const env = { OPENAI_API_KEY: "sk-newcomer", OPENAI_BASE_URL: `${provider.origin}/v1` };
    await using server = await startServer({ args: ["--engine", "native"], env });
    const result = await call(server, "codex", { prompt: "!say hi" });
    expect(valueAt(result, "isError")).toBe(true);
    expect(said(result)).toMatch(why);
    expect(said(result)).not.toContain("sk-newcomer");
  });
});
