// The servers that our HTTP server is compared with. Each lists Codex's two tools (ours lists its own as well). `bare` is a node:http
// handler with nothing around the answers; `sdk-1` and `sdk-2` are the official SDK's own transport in its faster mode, one JSON body per
// request.
//   node httpRival.mjs bare|sdk-1|sdk-2
import { randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";

const pins = JSON.parse(readFileSync(new URL("../test/support/toolPins.generated.json", import.meta.url), "utf8"));
const tools = ["codex", "codex-reply"].map((name) => {
  const { title, inputSchema, outputSchema } = pins.tools.find((tool) => tool.name === name);
  return { name, title, description: "Starts a thread, or continues it.", inputSchema, outputSchema };
});
const identity = { name: "rival", version: "0.0.0" };
const sessions = { sessionIdGenerator: () => randomUUID(), enableJsonResponse: true };

/** Each returns a request handler. */
const RIVALS = {
  bare: async () => (request, response) => {
    const chunks = [];
    request.on("data", (chunk) => chunks.push(chunk));
    request.on("end", () => {
      const { id, method } = JSON.parse(Buffer.concat(chunks).toString());
      const text = JSON.stringify({ jsonrpc: "2.0", id, result: bareResult(method) });
      response.writeHead(200, { "content-type": "application/json", "content-length": Buffer.byteLength(text) }).end(text);
    });
  },

  "sdk-1": async () => {
    const { Server } = await import("@modelcontextprotocol/sdk/server/index.js");
    const { StreamableHTTPServerTransport } = await import("@modelcontextprotocol/sdk/server/streamableHttp.js");
    const { ListToolsRequestSchema } = await import("@modelcontextprotocol/sdk/types.js");
    const server = new Server(identity, { capabilities: { tools: {} } });
    server.setRequestHandler(ListToolsRequestSchema, async () => ({ tools }));
    const transport = new StreamableHTTPServerTransport(sessions);
    await server.connect(transport);
    return (request, response) => transport.handleRequest(request, response);
  },

  "sdk-2": async () => {
    const { Server } = await import("@modelcontextprotocol/server");
    const { NodeStreamableHTTPServerTransport } = await import("@modelcontextprotocol/node");
    const server = new Server(identity, { capabilities: { tools: {} } });
    server.setRequestHandler("tools/list", async () => ({ tools }));
    const transport = new NodeStreamableHTTPServerTransport(sessions);
    await server.connect(transport);
    return (request, response) => transport.handleRequest(request, response);
  },
};

function bareResult(method) {
  if (method === "tools/list") return { tools };
  return method === "initialize" ? { protocolVersion: "2025-11-25", capabilities: { tools: {} }, serverInfo: identity } : {};
}

const server = createServer(await RIVALS[process.argv[2]]());
server.listen(0, "127.0.0.1", () => process.stderr.write(`listening on http://127.0.0.1:${server.address().port}/mcp\n`));
