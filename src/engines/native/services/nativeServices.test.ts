import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, expect, it, onTestFinished } from "vitest";
import { NOBODY_LISTENS } from "../../../../test/support/model/mockProvider.js";
import { settingsIn } from "../../../../test/support/threads/rollouts.js";
import type { ModelSummary } from "../../../threads/engineServices.js";
import type { ModelProvider } from "../../../threads/settings.js";
import { ModelChoice } from "../model/modelChoice.js";
import { availableModels } from "./nativeServices.js";

const unending = new AbortController().signal;
const CONFIGURED: ModelSummary = {
  model: "gpt-6.1-sol",
  displayName: "gpt-6.1-sol",
  isDefault: true,
  reasoningEfforts: ["low", "medium", "high", "xhigh", "max", "ultra"],
};

type Answer = (request: IncomingMessage, response: ServerResponse) => void;

async function provider(answer: Answer): Promise<{ readonly baseUrl: string } & AsyncDisposable> {
  const server = createServer(answer);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return {
    baseUrl: `http://127.0.0.1:${port}/v1`,
    async [Symbol.asyncDispose]() {
      const closed = once(server, "close");
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

function offered(changes: Partial<ModelProvider>, env: NodeJS.ProcessEnv = {}, signal = unending): Promise<readonly ModelSummary[]> {
  const settings = settingsIn("/");
  const models = new ModelChoice({ env, codexHome: "/nowhere", userAgent: "test/1" });
  onTestFinished(() => models[Symbol.asyncDispose]());
  return availableModels({ ...settings, provider: { ...settings.provider, ...changes } }, models, signal);
}

const json =
  (body: unknown, status = 200): Answer =>
  (_, response) =>
    response.writeHead(status, { "content-type": "application/json" }).end(typeof body === "string" ? body : JSON.stringify(body));

describe("the models on offer", () => {
  it("are the configured one and those that its provider lists, each once", async () => {
    await using server = await provider(json({ object: "list", data: [{ id: "other" }, { id: "gpt-6.1-sol" }, { id: "other" }] }));
    expect(await offered({ baseUrl: server.baseUrl })).toEqual([
      CONFIGURED,
      { model: "other", displayName: "other", isDefault: false, reasoningEfforts: [] },
    ]);
  });

  it("are requested like the model: with its key, headers and query", async () => {
    const asked: unknown[] = [];
    await using server = await provider((request, response) => {
      const { method, url, headers } = request;
      asked.push({ method, url, key: headers.authorization, extra: headers["x-extra"], agent: headers["user-agent"] });
      json({ data: [] })(request, response);
    });
    const { baseUrl } = server;
    await offered({ baseUrl, envKey: "MY_KEY", httpHeaders: { "x-extra": "yes" }, queryParams: { version: "1" } }, { MY_KEY: "key" });
    expect(asked).toEqual([{ method: "GET", url: "/v1/models?version=1", key: "Bearer key", extra: "yes", agent: "test/1" }]);
  });

  it.each<[string, Answer]>([
    ["has no list", json({ error: "no such route" }, 404)],
    ["refuses the key", json({ error: "wrong key" }, 401)],
    ["answers in another form", json({ models: ["a"] })],
    ["lists what are no names", json({ data: [null, 1, { id: 2 }, { id: "" }, "x"] })],
    ["answers with something else", json("<html>")],
    ["breaks off", (_, response) => response.writeHead(200, { "content-length": "100" }).write("{", () => response.destroy())],
    ["answers without end", (_, response) => response.writeHead(200).end(`{"data":[{"id":"${"x".repeat(5_000_000)}"}]}`)],
  ])("are the configured one alone when the provider %s", async (_what, answer) => {
    await using server = await provider(answer);
    expect(await offered({ baseUrl: server.baseUrl })).toEqual([CONFIGURED]);
  });

  it.each<[string, Partial<ModelProvider>]>([
    ["cannot be reached", { baseUrl: NOBODY_LISTENS }],
    ["has no usable address", { baseUrl: "nonsense" }],
    ["needs a key that is not there", { envKey: "MY_KEY" }],
  ])("are the configured one alone when the provider %s", async (_what, changes) => {
    expect(await offered(changes)).toEqual([CONFIGURED]);
  });

  it("are limited to a thousand", async () => {
    await using server = await provider(json({ data: Array.from({ length: 5000 }, (_, at) => ({ id: `model-${at}` })) }));
    expect(await offered({ baseUrl: server.baseUrl })).toHaveLength(1001);
  });

  it.each(["before an answer", "in the middle of it"])("are no longer waited for when the request is cancelled: %s", async (when) => {
    const abort = new AbortController();
    await using server = await provider((_, response) => {
      const stop = () => abort.abort(new Error("not wanted any more"));
      if (when === "before an answer") stop();
      else response.writeHead(200).write("{", stop);
    });
    await expect(offered({ baseUrl: server.baseUrl }, {}, abort.signal)).rejects.toThrow("not wanted any more");
  });
});
