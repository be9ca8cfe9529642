import * as z from "zod/mini";
import { describe } from "../../../lib/errors.js";
import type { Fields } from "../../../lib/fields.js";
import type { McpInvocation } from "../../../threads/items.js";
import { type DeclaredTool, readArguments, type ToolContext, type ToolRun } from "../tools/tool.js";
import { McpCallRefused, McpServerNotStarted } from "./failures.js";
import { type Listing, listOf, listOfAll, RESOURCES, TEMPLATES } from "./resourceListing.js";
import { ResourceContents } from "./results.js";
import type { McpServer } from "./server.js";
import { shownCall } from "./shownCall.js";

/** What the tools are about: where to ask, and what the model gets of a long answer. */
export interface ResourceShelf {
  readonly servers: readonly McpServer[];
  readonly shorten: (text: string) => string;
}

/** What the servers have to read, as tools for the model. */
export function resourceTools(shelf: ResourceShelf): readonly DeclaredTool[] {
  return [
    listingTool(shelf, RESOURCES, {
      name: "list_mcp_resources",
      description: "Lists what MCP servers have to read: files, schemas, notes and the like.",
    }),
    listingTool(shelf, TEMPLATES, {
      name: "list_mcp_resource_templates",
      description: "Lists the patterns of addresses under which MCP servers have more to read.",
    }),
    readingTool(shelf),
  ];
}

/** Stands for all servers together where one has to be named. */
const ALL_SERVERS = "codex";

const ListArguments = z.object({ server: z.optional(z.nullable(z.string())), cursor: z.optional(z.nullable(z.string())) });

function listingTool(shelf: ResourceShelf, listing: Listing, { name, description }: { name: string; description: string }): DeclaredTool {
  const properties = {
    server: { type: "string", description: "The server to ask, by its name; all of them if left out." },
    cursor: { type: "string", description: "`nextCursor` of the same server's page before." },
  };
  return {
    name,
    declaration: declaration(name, description, { type: "object", properties, additionalProperties: false }),
    async *run(args, ctx): ToolRun {
      const given = args.trim();
      const read = readArguments(given || "{}", ListArguments);
      if ("complaint" in read) return { output: read.complaint };
      const server = read.value.server?.trim() || undefined;
      const cursor = read.value.cursor?.trim() || undefined;
      const invocation = { server: server ?? ALL_SERVERS, tool: name, arguments: given === "" ? null : JSON.parse(given) };
      return yield* answered(invocation, { ...ctx, shelf, what: listing.method }, async () => {
        if (server !== undefined) return listOf(serverNamed(server, shelf), listing, cursor, ctx);
        if (cursor !== undefined) throw new McpCallRefused("cursor can only be used when a server is specified");
        return listOfAll(shelf.servers, listing, ctx);
      });
    },
  };
}

const ReadArguments = z.object({ server: z.string(), uri: z.string() });

function readingTool(shelf: ResourceShelf): DeclaredTool {
  const name = "read_mcp_resource";
  const properties = {
    server: { type: "string", description: "The server's name, as the list of resources gives it." },
    uri: { type: "string", description: "The resource's address, as the list gives it or made from a template." },
  };
  const parameters = { type: "object", properties, required: ["server", "uri"], additionalProperties: false };
  return {
    name,
    declaration: declaration(name, "Reads one resource of an MCP server.", parameters),
    async *run(args, ctx): ToolRun {
      const read = readArguments(args, ReadArguments);
      if ("complaint" in read) return { output: read.complaint };
      const [server, uri] = [read.value.server.trim(), read.value.uri.trim()];
      if (server === "") return { output: "server must be provided" };
      if (uri === "") return { output: "uri must be provided" };
      const invocation = { server, tool: name, arguments: JSON.parse(args) };
      return yield* answered(invocation, { ...ctx, shelf, what: "resources/read" }, async () => {
        const request = { method: "resources/read", params: { uri }, answer: ResourceContents };
        return { server, uri, ...(await serverNamed(server, shelf).request(request, ctx)) };
      });
    },
  };
}

function declaration(name: string, description: string, parameters: Fields): Fields {
  return { type: "function", name, description, strict: false, parameters };
}

function serverNamed(name: string, { servers }: ResourceShelf): McpServer {
  const server = servers.find((candidate) => candidate.name === name);
  if (!server) throw new McpCallRefused(`unknown MCP server '${name}'`);
  return server;
}

interface AnswerContext extends Pick<ToolContext, "callId" | "signal"> {
  readonly shelf: ResourceShelf;
  readonly what: string;
}

function answered(invocation: McpInvocation, { shelf, what, ...ctx }: AnswerContext, work: () => Promise<Fields>): ToolRun {
  return shownCall(invocation, ctx, async () => {
    try {
      const text = JSON.stringify(await work());
      return { result: { Ok: { content: [{ text, type: "text" }], isError: false } }, answer: { output: shelf.shorten(text) } };
    } catch (error) {
      ctx.signal.throwIfAborted();
      const Err = failureText(what, invocation.server, error);
      return { result: { Err }, answer: { output: Err } };
    }
  });
}

function failureText(what: string, server: string, error: unknown): string {
  if (error instanceof McpCallRefused) return error.message;
  if (error instanceof McpServerNotStarted) return `${what} failed: failed to get client: MCP startup failed: ${error.reason}`;
  return `${what} failed for \`${server}\`: ${describe(error)}`;
}
