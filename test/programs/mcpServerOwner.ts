// Opens the agent's MCP servers that its argument describes, prints how they started, and runs until it is killed.
import { openServers, startupOf } from "../support/processes/agentMcpServers.js";

const servers = openServers(JSON.parse(process.argv[2] ?? "[]"));
console.log(JSON.stringify((await startupOf(servers)).at(-1)));
setInterval(() => {}, 60_000);
