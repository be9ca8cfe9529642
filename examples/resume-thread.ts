// A thread outlives the server: a second process, started later, continues it.
import assert from "node:assert/strict";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { getDefaultEnvironment, StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";

const home = mkdtempSync(path.join(tmpdir(), "codex-mcpd-example-"));

try {
  const begun = await callOnce("codex", { prompt: "!say Noted: the password of the day is swordfish." });
  const threadId = begun.threadId;

  // Keep the id wherever your client keeps its state; the thread itself is on disk, in Codex's own format.
  const files = readdirSync(path.join(home, "sessions"), { recursive: true, encoding: "utf8" });
  assert.equal(files.filter((file) => file.endsWith(`${threadId}.jsonl`)).length, 1);

  const resumed = await callOnce("codex-reply", { threadId, prompt: "!say It was swordfish." });
  assert.equal(resumed.threadId, threadId);
  assert.equal(resumed.content, "It was swordfish.");
  console.log(`thread ${threadId} was continued in a second process`);
} finally {
  rmSync(home, { recursive: true, force: true });
}

/** Starts a server, makes one call, and ends the server again. */
async function callOnce(name: string, args: Record<string, unknown>): Promise<{ threadId: string; content: string }> {
  const client = new Client({ name: "example", version: "1.0.0" });
  await client.connect(
    new StdioClientTransport({
      command: process.execPath,
      args: ["dist/main.js", "--engine", "scripted"],
      env: { ...getDefaultEnvironment(), CODEX_HOME: home },
      stderr: "ignore",
    }),
  );
  try {
    const result = await client.callTool({ name, arguments: args });
    assert.equal(result.isError, undefined);
    return result.structuredContent as { threadId: string; content: string };
  } finally {
    await client.close();
  }
}
