import { MCPClient } from "mcp-use";
import { approve, converse, server, signal } from "./run.mjs";

const client = new MCPClient(
  {
    mcpServers: {
      codex: server.url
        ? { url: server.url }
        : // snippet
          { command: server.command, args: server.args, env: server.env },
      // end
    },
  },
  { onElicitation: approve },
);
const session = await client.createSession("codex");
const tools = await session.listTools();
await converse(
  tools.map(({ name }) => name),
  (name, args) => session.callTool(name, args, { signal }),
);
await client.closeAllSessions();
