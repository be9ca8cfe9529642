// Opens the agent's MCP servers that its argument describes, says how their start went, and stays until it is killed.
import { openMcpServers } from "../../src/engines/native/mcpServers/open.js";
import { startupOf } from "../support/agentMcpServers.js";

const settings = JSON.parse(process.argv[2] ?? "[]");
const servers = openMcpServers(settings, {
  env: process.env,
  cwd: process.cwd(),
  signal: new AbortController().signal,
  shorten: (text) => text,
});
console.log(JSON.stringify((await startupOf(servers)).at(-1)));
setInterval(() => {}, 60_000);
