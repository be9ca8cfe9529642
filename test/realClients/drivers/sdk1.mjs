import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { ElicitRequestSchema } from "@modelcontextprotocol/sdk/types.js";
import { approve, converse, server, signal } from "./run.mjs";

const transport = server.url
  ? new StreamableHTTPClientTransport(new URL(server.url))
  : // snippet
    new StdioClientTransport({ command: server.command, args: server.args, env: server.env });
// end
const client = new Client({ name: "sdk-program", version: "1.0.0" }, { capabilities: { elicitation: {} } });
client.setRequestHandler(ElicitRequestSchema, approve);
await client.connect(transport);
const { tools } = await client.listTools();
await converse(
  tools.map(({ name }) => name),
  (name, args) => client.callTool({ name, arguments: args }, undefined, { signal }),
);
await client.close();
