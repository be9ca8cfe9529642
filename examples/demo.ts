// A complete example without a key or a network: a real MCP client starts the server, runs a turn and a reply, and prints what it receives.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";

const LINE_WIDTH = 110;
const home = mkdtempSync(path.join(tmpdir(), "codex-mcpd-demo-"));

// The line to change for a real model: replace "scripted" by "native" (with OPENAI_API_KEY set, or a provider in ~/.codex/config.toml).
const ENGINE = "scripted";

const transport = new StdioClientTransport({
  command: process.execPath,
  args: ["dist/main.js", "mcp-server", "--engine", ENGINE],
  env: { ...inheritedEnvironment(), ...(ENGINE === "scripted" ? { CODEX_HOME: home } : {}) },
  stderr: "inherit",
});
const client = new Client({ name: "demo", version: "1.0.0" });
client.fallbackNotificationHandler = async ({ method, params }) => console.log(cut(`[mcp ${method}] ${gist(params)}`));

try {
  console.log(
    "Starting the server with the SCRIPTED engine: there is no real model; the `!` lines of the prompts are the script of the answers.\n",
  );
  await client.connect(transport);
  const { tools } = await client.listTools();
  console.log(
    `Connected to ${client.getServerVersion()?.name} ${client.getServerVersion()?.version}; tools: ${tools.map(({ name }) => name).join(", ")}\n`,
  );

  const prompt =
    "!think **Reading** the request\n!plan look around|answer\n!say Hello! I am the scripted model, and this is the first turn.";
  const first = await call("codex", { prompt, cwd: process.cwd() });
  const second = await call("codex-reply", { threadId: threadOf(first), prompt: "!say And this is the reply, on the same thread." });

  console.log(
    `Both turns ran on thread ${threadOf(second)}, and were written to disk as Codex writes them (here into a temporary CODEX_HOME).`,
  );
  console.log(
    `To use a real model, change the line \`const ENGINE = "scripted"\` in examples/demo.ts to "native"; README.md shows how to add the server to your client.`,
  );
} finally {
  await client.close();
  rmSync(home, { recursive: true, force: true });
}

async function call(name: string, args: Record<string, unknown>) {
  console.log(cut(`> tools/call ${name} ${JSON.stringify(args)}`));
  const result = await client.callTool({ name, arguments: args });
  const [answer] = result.content as { text: string }[];
  console.log(`\n< answer: ${answer?.text}\n`);
  if (result.isError) throw new Error(`the call failed: ${answer?.text}`);
  return result;
}

function threadOf(result: Awaited<ReturnType<typeof call>>): string {
  return (result.structuredContent as { threadId: string }).threadId;
}

/** A notification for people: the event's type and its most informative field. */
function gist(params: unknown): string {
  const msg = (params as { msg?: Record<string, unknown> } | undefined)?.msg;
  if (!msg) return JSON.stringify(params);
  const { type, ...fields } = msg;
  const telling =
    fields["delta"] ??
    fields["message"] ??
    fields["text"] ??
    fields["last_agent_message"] ??
    fields["plan"] ??
    fields["item"] ??
    fields["model"];
  return telling === undefined || telling === null
    ? String(type)
    : `${String(type)}: ${typeof telling === "string" ? telling : JSON.stringify(telling)}`;
}

function cut(line: string): string {
  const flat = line.replaceAll("\n", "\\n");
  return flat.length > LINE_WIDTH ? `${flat.slice(0, LINE_WIDTH - 1)}…` : flat;
}

function inheritedEnvironment(): Record<string, string> {
  return Object.fromEntries(Object.entries(process.env).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])));
}
