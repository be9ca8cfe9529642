// An MCP server made with the official package. Its tools end in every possible way, and it offers resources.
import { writeFileSync } from "node:fs";
import { Server } from "@modelcontextprotocol/sdk/server/index.js";
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
import {
  CallToolRequestSchema,
  ListResourcesRequestSchema,
  ListResourceTemplatesRequestSchema,
  ListToolsRequestSchema,
  ReadResourceRequestSchema,
} from "@modelcontextprotocol/sdk/types.js";

const PICTURE = "iVBORw0KGgo=";
const NOTHING = { type: "object" };
/** Without it, the SDK withdraws the question after a minute: slow machines look at all pages for longer. */
const PATIENTLY = { timeout: 600_000 };

/** @type {Record<string, (args: Record<string, string>, signal: AbortSignal) => unknown>} */
const TOOLS = {
  greet: ({ name }) => ({ content: [{ type: "text", text: `hello ${name}` }] }),
  structured: () => ({ content: [{ type: "text", text: "for old clients" }], structuredContent: { zebra: 1, ape: [2] } }),
  picture: () => ({
    content: [
      { type: "text", text: "look" },
      { type: "image", mimeType: "image/png", data: PICTURE },
    ],
  }),
  complain: () => ({ content: [{ type: "text", text: "out of paper" }], isError: true }),
  refuse: () => {
    throw Object.assign(new Error("no such drawer"), { code: -32_602 });
  },
  environment: () => ({ content: [], structuredContent: { ...process.env } }),
  place: () => ({ content: [], structuredContent: { cwd: process.cwd(), pid: process.pid, born: performance.timeOrigin } }),
  large: ({ characters }) => ({ content: [{ type: "text", text: "x".repeat(Number(characters)) }] }),
  die: () => process.exit(7),
  /** Never answers; writes a note when its call is cancelled. */
  wait: ({ note }, signal) =>
    new Promise(() => signal.addEventListener("abort", () => writeFileSync(note, String(signal.reason)), { once: true })),
  ask: async () => {
    const requestedSchema = { type: "object", properties: { colour: { type: "string" } } };
    return { content: [], structuredContent: await server.elicitInput({ message: "Which colour?", requestedSchema }) };
  },
  /** Asks with the form that it is given. */
  fill: async ({ properties, required }) => {
    const requestedSchema = { type: "object", properties, ...(required && { required }) };
    return { content: [], structuredContent: await server.elicitInput({ message: "Which?", requestedSchema }, PATIENTLY) };
  },
  release: async () => {
    const properties = {
      version: { type: "string", title: "Version", description: "As in the changelog.", default: "4.2.0" },
      channel: { type: "string", title: "Channel", enum: ["stable", "beta"] },
      places: { type: "array", title: "Registries", items: { type: "string", enum: ["npm", "jsr"] }, default: ["npm"] },
      draft: { type: "boolean", title: "Only a draft", default: true },
    };
    const requestedSchema = { type: "object", properties, required: ["version", "channel"] };
    return { content: [], structuredContent: await server.elicitInput({ message: "What is to be released?", requestedSchema }, PATIENTLY) };
  },
};

const server = new Server({ name: "official", version: "1" }, { capabilities: { tools: {}, resources: {} } });

server.setRequestHandler(ListToolsRequestSchema, () => ({
  tools: Object.keys(TOOLS).map((name) => ({ name, description: `can ${name}`, inputSchema: NOTHING })),
}));
server.setRequestHandler(CallToolRequestSchema, ({ params }, { signal }) => TOOLS[params.name](params.arguments ?? {}, signal));

server.setRequestHandler(ListResourcesRequestSchema, ({ params }) =>
  params?.cursor === "second"
    ? { resources: [{ uri: "memo://2", name: "two" }] }
    : { resources: [{ uri: "memo://1", name: "one", mimeType: "text/plain" }], nextCursor: "second" },
);
server.setRequestHandler(ListResourceTemplatesRequestSchema, () => ({
  resourceTemplates: [{ uriTemplate: "memo://{number}", name: "memo" }],
}));
server.setRequestHandler(ReadResourceRequestSchema, ({ params }) => ({ contents: [{ uri: params.uri, text: `read ${params.uri}` }] }));

await server.connect(new StdioServerTransport());
