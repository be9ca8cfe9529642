import { spawn } from "node:child_process";
import { once } from "node:events";
import { expect, it } from "vitest";
import { newMark, programServer } from "./support/processes/agentMcpServers.js";
import { bundledProgram } from "./support/processes/bundledProgram.js";
import { processesMarked, stragglers } from "./support/processes/markedProcesses.js";

it("the agent's MCP servers end with a killed server", async () => {
  using owner = await bundledProgram("mcpServerOwner");
  const { mark, env } = newMark();
  const settings = [programServer("a", ["mcpServerOfficial"], { env }), programServer("b", ["mcpServerUnruly"], { env })];
  const child = spawn(process.execPath, [owner.file, JSON.stringify(settings)], { stdio: ["ignore", "pipe", "inherit"] });
  const [summary] = await once(child.stdout, "data");
  // In the order in which they were ready.
  const ready = expect.toSatisfy((names: readonly string[]) => names.toSorted().join() === "a,b");
  expect(JSON.parse(String(summary))).toEqual({ type: "mcpStartupCompleted", ready, failed: [], cancelled: [] });
  expect(processesMarked(mark).length).toBe(2);
  child.kill("SIGKILL");
  expect(await stragglers(mark, { graceMs: 5000 })).toEqual([]);
});
