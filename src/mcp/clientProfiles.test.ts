import { expect, it } from "vitest";
import { type ClientProfile, clientProfile, KNOWN_CLIENTS } from "./clientProfiles.js";

function traitsOf(name: string): ClientProfile {
  const { shows, waits, readsEvents, form } = clientProfile({ name, version: "1" });
  return { shows, waits, readsEvents, form };
}

it.for([
  ["claude-code", { shows: "structured", waits: true, readsEvents: false, form: "decision" }],
  ["codex-mcp-client", { shows: "structured", waits: 300, readsEvents: false, form: "empty" }],
  ["qwen-cli-mcp-client-codex", { shows: "both", waits: 600, readsEvents: false, form: "decision" }],
  ["gemini-cli-mcp-client", { shows: "text", waits: 600, readsEvents: false, form: "decision" }],
  ["continue-cli-client", { shows: "text", waits: 60, readsEvents: false, form: "decision" }],
  ["@langchain/mcp-adapters", { shows: "text", waits: 60, readsEvents: false, form: "decision" }],
  ["@cline/core", { shows: "everything", waits: 60, readsEvents: false, form: "decision" }],
] as const)("%s is known", ([name, traits]) => {
  expect(traitsOf(name)).toEqual(traits);
});

it.for([
  ["no name at all", undefined],
  ["a name that nobody wrote down", { name: "Codex CLI" }],
  ["a name that only contains a known one", { name: "not-claude-code" }],
  ["a name without end", { name: "qwen-cli-mcp-client-".padEnd(1_000_000, "x") }],
] as const)("%s is an unknown client", ([, client]) => {
  expect(clientProfile(client)).toEqual({ shows: "unknown", waits: 60, readsEvents: true, form: "decision" });
});

it("every row names its source, and no two have the same title", () => {
  const titles = KNOWN_CLIENTS.map(({ title }) => title);
  expect(new Set(titles).size).toBe(titles.length);
  expect(KNOWN_CLIENTS.filter(({ version, source }) => version === "" || source === "")).toEqual([]);
});
