import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { expect, it } from "vitest";
import { newMark, programServer } from "./support/processes/agentMcpServers.js";
import { processesMarked, stragglers } from "./support/processes/markedProcesses.js";

const OWNER = fileURLToPath(new URL("programs/mcpServerOwner.ts", import.meta.url));

async function buildOwner(): Promise<{ readonly file: string } & Disposable> {
  const folder = mkdtempSync(path.join(tmpdir(), "mcp-owner-"));
  const file = path.join(folder, "owner.mjs");
  await build({
    entryPoints: [OWNER],
    outfile: file,
    bundle: true,
    platform: "node",
    format: "esm",
    target: "node20",
    logLevel: "warning",
  });
  return { file, [Symbol.dispose]: () => rmSync(folder, { recursive: true, force: true }) };
}

it("the agent's MCP servers end with a killed server", async () => {
  using owner = await buildOwner();
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
