// The smallest useful client: starts the server, follows a turn as it happens, and reads the answer.
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { getDefaultEnvironment, StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";

const home = mkdtempSync(path.join(tmpdir(), "codex-mcpd-example-"));
const client = new Client({ name: "example", version: "1.0.0" });

// Everything the agent does arrives as an event while the call is still open.
const steps: string[] = [];
client.fallbackNotificationHandler = async ({ method, params }) => {
  if (method === "codex/event") steps.push((params as { msg: { type: string } }).msg.type);
};

try {
  // With a real model: drop `--engine scripted` and CODEX_HOME, and set OPENAI_API_KEY.
  await client.connect(
    new StdioClientTransport({
      command: process.execPath,
      args: ["dist/main.js", "--engine", "scripted"],
      env: { ...getDefaultEnvironment(), CODEX_HOME: home },
      stderr: "ignore",
    }),
  );

  const { tools } = await client.listTools();
  assert.deepEqual(
    tools.map(({ name }) => name),
    [
      "codex",
      "codex-reply",
      ...["review", "steer", "compact", "threads", "exec", "models", "account", "config"].map((name) => `codex-${name}`),
    ],
  );

  const progress: (string | undefined)[] = [];
  const result = await client.callTool(
    { name: "codex", arguments: { prompt: "!plan read|answer\n!slow 5 20", cwd: process.cwd(), sandbox: "read-only" } },
    undefined,
    { onprogress: ({ message }) => progress.push(message) },
  );
  assert.deepEqual(result.content, [{ type: "text", text: "w0 w1 w2 w3 w4 " }]);
  assert.deepEqual(progress, ["Thinking", "Plan: read", "Writing the answer"]);
  assert.equal(steps.at(0), "session_configured");
  assert.equal(steps.at(-1), "task_complete");

  // A failed turn is a result too, with `isError` and the reason.
  const failure = await client.callTool({ name: "codex", arguments: { prompt: "!fail insufficient_quota" } });
  assert.equal(failure.isError, true);
  assert.deepEqual(failure.content, [{ type: "text", text: "Quota exceeded. Check your plan and billing details." }]);
  console.log(`${steps.length} events, one answer, and one reported failure`);
} finally {
  await client.close();
  rmSync(home, { recursive: true, force: true });
}
