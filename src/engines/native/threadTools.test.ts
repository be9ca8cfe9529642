import { expect, it } from "vitest";
import { settingsIn } from "../../../test/support/threads/rollouts.js";
import { WritablePlaces } from "../../exec/outside/outsidePrograms.js";
import type { ThreadSettings } from "../../threads/settings.js";
import type { ServerHost } from "./agentServers/openLink.js";
import { openConfiguredServers, openThreadTools } from "./threadTools.js";
import { HostEnvironment } from "./tools/hostEnvironment.js";

async function offered(changes: Partial<ThreadSettings>): Promise<unknown[]> {
  const threadTools = await openThreadTools(
    settingsIn("/", changes),
    new HostEnvironment({ codexHome: "/nowhere", env: {}, serverCwd: "/", writable: new WritablePlaces([]) }),
  );
  const declarations = await threadTools.declarations({ signal: new AbortController().signal });
  return declarations.map(({ type, name, external_web_access: live }) => name ?? `${String(type)} ${String(live)}`);
}

const openai = { ...settingsIn("/").provider, id: "openai" };
const other = { ...settingsIn("/").provider, id: "mock" };

it.for([
  ["an unknown model", { model: "mock-model", provider: other }, ["shell", "update_plan", "apply_patch", "view_image"]],
  ["an unknown model, as recorded", { model: "mock-model", asRecorded: true, provider: other }, ["shell", "update_plan", "view_image"]],
  ["a model of Codex's", { model: "gpt-6.1-sol", provider: other }, ["shell_command", "update_plan", "apply_patch", "view_image"]],
  ["gpt-oss", { model: "gpt-oss:20b", provider: other }, ["shell", "update_plan", "apply_patch", "view_image"]],
  ["no shell", { model: "mock-model", provider: other, features: { shell_tool: false } }, ["update_plan", "apply_patch", "view_image"]],
  [
    "sessions and patches",
    { model: "mock-model", provider: other, features: { unified_exec: true, apply_patch_freeform: true } },
    ["exec_command", "write_stdin", "update_plan", "apply_patch", "view_image"],
  ],
  ["OpenAI", { model: "mock-model", provider: openai }, ["shell", "update_plan", "apply_patch", "view_image", "web_search false"]],
  ["no search", { model: "mock-model", provider: openai, webSearch: "disabled" }, ["shell", "update_plan", "apply_patch", "view_image"]],
  [
    "live search",
    { model: "mock-model", provider: other, webSearch: "live" },
    ["shell", "update_plan", "apply_patch", "view_image", "web_search true"],
  ],
  [
    "the older switch for search",
    { model: "mock-model", provider: other, features: { web_search_request: true } },
    ["shell", "update_plan", "apply_patch", "view_image", "web_search true"],
  ],
] as const)("with %s the model is offered the matching tools", async ([, changes, tools]) => {
  expect(await offered(changes)).toEqual(tools);
});

const NOWHERE: ServerHost = {
  env: {},
  codexHome: "/",
  outside: { find: () => undefined, distrusted: () => [], searchPath: "" },
  contain: () => Promise.reject(new Error("nothing is started")),
};

it("without servers the start is complete at once and reported once, and nothing is offered", async () => {
  const signal = new AbortController().signal;
  const servers = await openConfiguredServers([], { host: NOWHERE, shorten: (text) => text });
  expect([servers.takeStartupEvents(), servers.takeStartupEvents()]).toEqual([
    [{ type: "mcpStartupCompleted", ready: [], failed: [], cancelled: [] }],
    [],
  ]);
  expect([servers.resources, await servers.tools({ signal }), await servers.find("shell", { signal })]).toEqual([[], [], undefined]);
  expect(await servers.tools({ signal })).toBe(await servers.tools({ signal }));
});
