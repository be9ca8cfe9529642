import { describe, expect, it } from "vitest";
import { settingsIn } from "../../../../test/support/rollouts.js";
import type { ModelProvider } from "../../../threads/settings.js";
import { endpoint, providerHeaders, shownUrl } from "./provider.js";

function provider(changes: Partial<ModelProvider>): ModelProvider {
  return { ...settingsIn("/").provider, ...changes };
}

describe("the address of a provider", () => {
  it.each([
    ["http://model", "http://model/responses"],
    ["http://model/", "http://model/responses"],
    ["https://model:8443/api/v1", "https://model:8443/api/v1/responses"],
    ["https://model/api/v1//", "https://model/api/v1/responses"],
    ["https://model/v1?tenant=a", "https://model/v1/responses?tenant=a"],
  ])("%s", (baseUrl, url) => {
    expect(endpoint(provider({ baseUrl }), "responses").href).toBe(url);
  });

  it("carries the configured query, encoded", () => {
    const queryParams = { "api-version": "2026-01-01", tag: "a b&c" };
    expect(endpoint(provider({ baseUrl: "https://model/v1", queryParams }), "models").href).toBe(
      "https://model/v1/models?api-version=2026-01-01&tag=a+b%26c",
    );
  });

  it("is shown without what may be secret", () => {
    const url = endpoint(provider({ baseUrl: "https://user:pass@model:8443/v1", queryParams: { key: "secret" } }), "responses");
    expect(shownUrl(url)).toBe("https://model:8443/v1/responses");
  });

  it.each(["", "model/v1", "localhost:11434/v1", "ftp://model/v1"])(
    "that is no web address is a failure with the remedy: %s",
    (baseUrl) => {
      expect(() => endpoint(provider({ id: "mine", baseUrl }), "responses")).toThrow(
        expect.objectContaining({
          message: "The base_url of provider `mine` must begin with http:// or https://. Correct it in config.toml.",
          retry: "never",
        }),
      );
    },
  );
});

describe("the headers of a provider", () => {
  const codexHome = "/nowhere";

  it("are its own, those its variables hold, and its key", () => {
    const asked = provider({
      envKey: "KEY",
      httpHeaders: { "X-Team": "blue", "X-Both": "fixed" },
      envHttpHeaders: { "X-Org": "ORG", "X-Both": "BOTH", "X-Unset": "UNSET", "X-Blank": "BLANK" },
    });
    expect(providerHeaders(asked, { codexHome, env: { KEY: "k", ORG: " acme ", BOTH: "from env", BLANK: "  " } })).toEqual({
      "x-team": "blue",
      "x-org": "acme",
      "x-both": "from env",
      authorization: "Bearer k",
    });
  });

  it("have no key where none is asked for", () => {
    const env = { OPENAI_API_KEY: "k", CODEX_API_KEY: "k" };
    expect(providerHeaders(provider({}), { codexHome, env })).toEqual({});
    expect(providerHeaders(provider({ httpHeaders: { Authorization: "Basic own" } }), { codexHome, env })).toEqual({
      authorization: "Basic own",
    });
  });
});
