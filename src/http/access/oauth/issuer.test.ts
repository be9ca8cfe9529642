import { expect, it } from "vitest";
import { startLoopback } from "../../../../test/support/http/loopback.js";
import { loadKeyDocument } from "./issuer.js";

const NEVER = new AbortController().signal;

function settingsFor(issuer: string, jwks?: string) {
  return { issuer, audiences: ["codex"], requiredScopes: [], ...(jwks === undefined ? {} : { jwks }) };
}

it.each([
  [404, "", "is not there"],
  [500, "{}", "answers with status 500"],
  [200, "<html>", "is not a JSON object"],
  [200, "[]", "is not a JSON object"],
  [200, `"${"x".repeat(600_000)}"`, "cannot be reached: it sends more than 524288 bytes"],
])("keys in a response with status %i are not used", async (status, body, complaint) => {
  await using server = await startLoopback((_, response) => void response.writeHead(status).end(body));
  const url = `${server.origin}/keys`;
  await expect(loadKeyDocument(settingsFor(server.origin, url), NEVER)).rejects.toThrow(`${url} ${complaint}`);
});

it("redirects of keys are not followed", async () => {
  await using server = await startLoopback((_, response) => void response.writeHead(302, { location: "/elsewhere" }).end());
  await expect(loadKeyDocument(settingsFor(server.origin, `${server.origin}/keys`), NEVER)).rejects.toThrow("cannot be reached");
});

it.each([
  [{ issuer: "https://another.example", jwks_uri: "https://another.example/keys" }, "is the metadata of another issuer"],
  [{ jwks_uri: "http://another.example/keys" }, "names no https URL for the keys"],
  [{}, "names no https URL for the keys"],
])("metadata %j leads to no keys", async (metadata, complaint) => {
  await using server = await startLoopback((_, response) => void response.end(JSON.stringify({ issuer: server.origin, ...metadata })));
  await expect(loadKeyDocument(settingsFor(server.origin), NEVER)).rejects.toThrow(complaint);
});

it("an issuer without metadata is named in the error", async () => {
  await using server = await startLoopback((_, response) => void response.writeHead(404).end());
  await expect(loadKeyDocument(settingsFor(server.origin), NEVER)).rejects.toThrow(`no metadata found for the issuer ${server.origin}`);
});

it("a request without a response ends with the server", async () => {
  const closing = new AbortController();
  await using server = await startLoopback(() => closing.abort(new Error("the server is shutting down")));
  await expect(loadKeyDocument(settingsFor(server.origin), closing.signal)).rejects.toThrow("the server is shutting down");
});
