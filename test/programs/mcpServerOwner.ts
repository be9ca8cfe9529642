// Opens the agent's MCP servers that its argument describes, says how their start went, and stays until it is killed.
import { openServers, startupOf } from "../support/processes/agentMcpServers.js";

const servers = openServers(JSON.parse(process.argv[2] ?? "[]"));
console.log(JSON.stringify((await startupOf(servers)).at(-1)));
setInterval(() => {}, 60_000);
