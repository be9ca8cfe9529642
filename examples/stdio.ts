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
    tools.slice(0, 2).map(({ name }) => name),
    ["codex", "codex-reply"],
  );

  const progress: (string | undefined)[] = [];
  const result = await client.callTool(
    { name: "codex", arguments: { prompt: "!plan read|answer\n!slow 5 20", cwd: process.cwd(), sandbox: "read-only" } },
    undefined,
    { onprogress: ({ message }) => progress.push(message) },
  );
  // The first text is the answer. A second one, and `structuredContent`, say what the turn did.
  const [answer] = result.content as { text: string }[];
  assert.equal(answer?.text, "w0 w1 w2 w3 w4 ");
  // The first message names the thread, so that a client that gives up can continue it.
  assert.match(progress[0] ?? "", /^Thread [0-9a-f-]{36}: Thinking$/);
  assert.deepEqual(progress.slice(1), ["Plan: read", "Writing the answer"]);
  assert.equal(steps.at(0), "session_configured");
  assert.equal(steps.at(-1), "task_complete");

  // A failed turn is a result too, with `isError` and the reason.
  const failure = await client.callTool({ name: "codex", arguments: { prompt: "!fail insufficient_quota" } });
  assert.equal(failure.isError, true);
  const [reason] = failure.content as { text: string }[];
  assert.match(reason?.text ?? "", /^Quota exceeded\. Check your plan and billing details\./);
  console.log(`${steps.length} events, one answer, and one reported failure`);
} finally {
  await client.close();
  rmSync(home, { recursive: true, force: true });
}
