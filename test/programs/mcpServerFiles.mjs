// An MCP server with one tool that declares itself read-only and two that do not: one writes, one declares nothing. argv[2]: the folder.
import { writeFileSync } from "node:fs";
import path from "node:path";
import { createInterface } from "node:readline";

const [, , folder = "."] = process.argv;
const schema = { type: "object", properties: { name: { type: "string" } } };
const tools = [
  { name: "read", inputSchema: schema, annotations: { readOnlyHint: true } },
  { name: "write", inputSchema: schema, annotations: { readOnlyHint: false } },
  { name: "silent", inputSchema: schema },
];

/** @type {Record<string, (params: any) => unknown>} */
const METHODS = {
  initialize: ({ protocolVersion }) => ({ protocolVersion, capabilities: { tools: {} }, serverInfo: { name: "files", version: "1" } }),
  "tools/list": () => ({ tools }),
  "tools/call": ({ name, arguments: args }) => {
    if (name !== "read") writeFileSync(path.join(folder, args.name), "written");
    return { content: [{ type: "text", text: name === "read" ? "was read" : "was written" }] };
  },
};

createInterface({ input: process.stdin }).on("line", (line) => {
  const { id, method, params } = JSON.parse(line);
  if (id !== undefined) console.log(JSON.stringify({ jsonrpc: "2.0", id, result: METHODS[method]?.(params) ?? {} }));
});
