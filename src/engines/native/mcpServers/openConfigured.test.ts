import { expect, it } from "vitest";
import { openConfiguredServers } from "./openConfigured.js";
import type { ProgramSurroundings } from "./serverProgram.js";

const NOWHERE: ProgramSurroundings = {
  env: {},
  codexHome: "/",
  outside: { find: () => undefined, distrusted: () => [], searchPath: "" },
  contain: () => Promise.reject(new Error("nothing is started")),
};

it("without servers the start is over at once and told once, and nothing is offered", async () => {
  const signal = new AbortController().signal;
  const servers = await openConfiguredServers([], { around: NOWHERE, shorten: (text) => text });
  expect([servers.takeStartupNews(), servers.takeStartupNews()]).toEqual([
    [{ type: "mcpStartupCompleted", ready: [], failed: [], cancelled: [] }],
    [],
  ]);
  expect([servers.resources, await servers.tools({ signal }), await servers.find("shell", { signal })]).toEqual([[], [], undefined]);
  expect(await servers.tools({ signal })).toBe(await servers.tools({ signal }));
});
