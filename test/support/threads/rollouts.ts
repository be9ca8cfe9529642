import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { RolloutStore } from "../../../src/stores/files/threads/rolloutStore.js";
import type { ThreadEvent } from "../../../src/threads/events.js";
import type { RawItem } from "../../../src/threads/items.js";
import type { ThreadSettings } from "../../../src/threads/settings.js";

/** A temporary CODEX_HOME, removed at the end of the test. */
export function tempHome(): { readonly path: string } & Disposable {
  const folder = mkdtempSync(path.join(tmpdir(), "codex-home-"));
  return { path: folder, [Symbol.dispose]: () => rmSync(folder, { recursive: true, force: true }) };
}

export function storeIn(codexHome: string, env: Record<string, string> = {}): RolloutStore {
  return new RolloutStore({ codexHome, version: "1.2.3", env, warn: (line) => process.stderr.write(`${line}\n`) });
}

export function settingsIn(cwd: string, changes: Partial<ThreadSettings> = {}): ThreadSettings {
  return {
    cwd,
    model: "gpt-6.1-sol",
    provider: {
      id: "openai",
      name: "OpenAI",
      baseUrl: "http://127.0.0.1:9/v1",
      wireApi: "responses",
      httpHeaders: {},
      envHttpHeaders: {},
      queryParams: {},
      requestMaxRetries: 0,
      streamMaxRetries: 0,
      streamIdleTimeoutMs: 1000,
      requiresOpenaiAuth: false,
    },
    approvalPolicy: "on-request",
    sandboxPolicy: { type: "read-only" },
    reasoningSummary: "auto",
    projectDocMaxBytes: 0,
    projectDocFallbackFilenames: [],
    projectRootMarkers: [],
    showRawAgentReasoning: false,
    mcpServers: [],
    shellEnvironment: { inherit: "all", ignoreDefaultExcludes: true, exclude: [], set: {}, includeOnly: [] },
    features: {},
    notices: [],
    ...changes,
  };
}

export function message(role: "user" | "assistant" | "developer", text: string): RawItem {
  return { type: "message", role, content: [{ type: role === "assistant" ? "output_text" : "input_text", text }] };
}

/** A message of the model: one line in a rollout. */
export function saying(text: string): ThreadEvent {
  return { type: "rawItem", item: message("assistant", text) };
}

/** The file's lines as objects; fails if one of them is not JSON. */
export function linesIn(file: string): Record<string, unknown>[] {
  return readFileSync(file, "utf8")
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as Record<string, unknown>);
}
