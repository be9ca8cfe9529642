import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { approve, converse, server, signal } from "./run.mjs";

const transport = server.url
  ? new StreamableHTTPClientTransport(new URL(server.url))
  : // snippet
    new StdioClientTransport({ command: server.command, args: server.args, env: server.env });
// end
const client = new Client(
  { name: "sdk-program", version: "2.0.0" },
  { capabilities: { elicitation: {} }, versionNegotiation: { mode: "auto" } },
);
client.setRequestHandler("elicitation/create", approve);
await client.connect(transport);
const { tools } = await client.listTools();
await converse(
  tools.map(({ name }) => name),
  (name, args) => client.callTool({ name, arguments: args }, { signal }),
);
await client.close();
