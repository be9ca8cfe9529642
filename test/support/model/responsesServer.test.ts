import { describe, expect, it } from "vitest";
import { type ResponsesServer, startResponsesServer } from "./responsesServer.js";

function post(server: ResponsesServer, prompt: string, init: RequestInit = {}): Promise<Response> {
  const body = { model: "m", input: [{ role: "user", content: prompt }], tools: [] };
  return fetch(`${server.url}/responses`, { method: "POST", body: JSON.stringify(body), ...init });
}

describe("the Responses server of the tests", () => {
  it("streams a scripted answer and keeps the request", async () => {
    await using server = await startResponsesServer();
    const response = await post(server, "!tokens 3", { headers: { "x-mark": "here" } });
    const types = (await response.text()).match(/(?<=^event: ).*$/gm);
    expect([response.status, response.headers.get("content-type"), types]).toEqual([
      200,
      "text/event-stream",
      [
        "response.created",
        "response.output_item.added",
        "response.content_part.added",
        "response.output_text.delta",
        "response.output_text.delta",
        "response.output_text.delta",
        "response.output_text.done",
        "response.output_item.done",
        "response.completed",
      ],
    ]);
    expect(server.requests.map(({ url, headers, body }) => [url, headers["x-mark"], body])).toEqual([
      ["/v1/responses", "here", { model: "m", input: [{ role: "user", content: "!tokens 3" }], tools: [] }],
    ]);
  });

  it("injects the faults a test asks for, request by request", async () => {
    await using server = await startResponsesServer({
      respond: (_request, index) =>
        [{ status: 500, headers: { "retry-after": "7" } }, { stream: "data: {garbage\n\n" }, { ending: "cut" as const }][index],
    });
    const refused = await post(server, "!say x");
    expect([refused.status, refused.headers.get("retry-after")]).toEqual([500, "7"]);
    expect(await (await post(server, "!say x")).text()).toBe("data: {garbage\n\n");
    await expect((await post(server, "!say x")).text()).rejects.toThrow("terminated");
    expect((await post(server, "!say x")).status).toBe(200);
  });

  it("refuses invalid requests, and lists its model", async () => {
    await using server = await startResponsesServer();
    const broken = await fetch(`${server.url}/responses`, { method: "POST", body: "{}" });
    expect([broken.status, await broken.json()]).toEqual([
      400,
      { error: { message: "A request of the Responses API needs model and input." } },
    ]);
    expect(await (await fetch(`${server.url}/models`)).json()).toEqual({
      object: "list",
      data: [{ id: "mock-model", object: "model" }],
      models: [],
    });
  });

  it("closes although an answer hangs", async () => {
    const server = await startResponsesServer();
    const answer = await post(server, "!hang");
    await server.close();
    await server.close();
    await expect(answer.text()).rejects.toThrow("terminated");
  });

  it("continues when a caller disconnects in the middle of an answer", async () => {
    await using server = await startResponsesServer();
    const leave = new AbortController();
    const slow = await post(server, "!slow 1000 1000", { signal: leave.signal });
    leave.abort();
    await expect(slow.text()).rejects.toThrow("aborted");
    expect((await post(server, "!say x")).status).toBe(200);
  });
});
