import * as z from "zod/mini";
import { describe } from "../../../lib/errors.js";
import { type Fields, parseForeignJson } from "../../../lib/fields.js";
import type { McpInvocation } from "../../../threads/items.js";
import { type DeclaredTool, readArguments, type ToolContext, type ToolRun } from "../tools/tool.js";
import type { AgentServer } from "./agentServer.js";
import { McpCallRefused, McpRequestFailed, McpServerNotStarted, McpTimedOut } from "./failures.js";
import { allPages, type Page, ResourceContents, ResourcePage, TemplatePage } from "./serverAnswers.js";
import { shownCall, sortedKeys } from "./serverTool.js";

/** What the tools need: the servers, and how long responses are shortened for the model. */
interface ResourceSources {
  readonly servers: readonly AgentServer[];
  readonly shorten: (text: string) => string;
}

/** Tools with which the model reads the servers' resources. */
export function resourceTools(sources: ResourceSources): readonly DeclaredTool[] {
  return [
    listingTool(sources, RESOURCES, {
      name: "list_mcp_resources",
      description: "Lists the resources of MCP servers: files, schemas, notes and the like.",
    }),
    listingTool(sources, TEMPLATES, {
      name: "list_mcp_resource_templates",
      description: "Lists the resource templates of MCP servers: URI patterns for further resources.",
    }),
    readingTool(sources),
  ];
}

/** Codex checked these arguments after parsing, so its errors had no positions in the text. */
const IN_OUR_WORDS = { asRecorded: false };

/** Stands for all servers together where a name is required. */
const ALL_SERVERS = "codex";

const ListArguments = z.object({ server: z.optional(z.nullable(z.string())), cursor: z.optional(z.nullable(z.string())) });

function listingTool(
  sources: ResourceSources,
  listing: Listing,
  { name, description }: { name: string; description: string },
): DeclaredTool {
  const properties = {
    server: { type: "string", description: "The server's name; all servers if left out." },
    cursor: { type: "string", description: "`nextCursor` of the same server's previous page." },
  };
  return {
    name,
    declaration: declaration(name, description, { type: "object", properties, additionalProperties: false }),
    async *run(args, ctx): ToolRun {
      const given = args.trim();
      const read = readArguments(given || "{}", ListArguments, IN_OUR_WORDS);
      if ("complaint" in read) return { output: read.complaint };
      const server = read.value.server?.trim() || undefined;
      const cursor = read.value.cursor?.trim() || undefined;
      const invocation = { server: server ?? ALL_SERVERS, tool: name, arguments: given === "" ? null : parseForeignJson(given) };
      return yield* answered(invocation, { ...ctx, sources, what: listing.method, place: `\`${server ?? ALL_SERVERS}\`` }, async () => {
        if (server !== undefined) return pageOf(serverNamed(server, sources, listing.method), listing, cursor, ctx);
        if (cursor !== undefined) throw new McpCallRefused("cursor can only be used when a server is specified");
        return listOfAll(sources.servers, listing, ctx);
      });
    },
  };
}

const ReadArguments = z.object({ server: z.string(), uri: z.string() });

function readingTool(sources: ResourceSources): DeclaredTool {
  const name = "read_mcp_resource";
  const properties = {
    server: { type: "string", description: "The server's name, as the list of resources gives it." },
    uri: { type: "string", description: "The resource's URI, from the list or made from a template." },
  };
  const parameters = { type: "object", properties, required: ["server", "uri"], additionalProperties: false };
  return {
    name,
    declaration: declaration(name, "Reads one resource of an MCP server.", parameters),
    async *run(args, ctx): ToolRun {
      const read = readArguments(args, ReadArguments, IN_OUR_WORDS);
      if ("complaint" in read) return { output: read.complaint };
      const [server, uri] = [read.value.server.trim(), read.value.uri.trim()];
      if (server === "") return { output: "server must be provided" };
      if (uri === "") return { output: "uri must be provided" };
      const invocation = { server, tool: name, arguments: parseForeignJson(args) };
      return yield* answered(invocation, { ...ctx, sources, what: "resources/read", place: `\`${server}\` (${uri})` }, async () => {
        const request = { method: "resources/read", params: { uri }, answer: ResourceContents };
        return { server, uri, ...(await serverNamed(server, sources, request.method).request(request, ctx)) };
      });
    },
  };
}

function declaration(name: string, description: string, parameters: Fields): Fields {
  return { type: "function", name, description, strict: false, parameters };
}

function serverNamed(name: string, { servers }: ResourceSources, what: string): AgentServer {
  const server = servers.find((candidate) => candidate.name === name);
  if (!server) throw new McpCallRefused(`${what} failed: unknown MCP server '${name}'`);
  return server;
}

interface AnswerContext extends Pick<ToolContext, "callId" | "signal" | "asRecorded"> {
  readonly sources: ResourceSources;
  readonly what: string;
  /** The server, and the resource if there is one. */
  readonly place: string;
}

function answered(invocation: McpInvocation, { sources, ...ctx }: AnswerContext, work: () => Promise<Fields>): ToolRun {
  return shownCall(invocation, ctx, async () => {
    try {
      const text = JSON.stringify(await work());
      return { result: { Ok: { content: [{ text, type: "text" }], isError: false } }, answer: { output: sources.shorten(text) } };
    } catch (error) {
      ctx.signal.throwIfAborted();
      const Err = failureText(error, ctx);
      return { result: { Err }, answer: { output: Err } };
    }
  });
}

/** In Codex's wording, from the outermost cause to the innermost. */
function failureText(error: unknown, { what, place, asRecorded }: Pick<AnswerContext, "what" | "place" | "asRecorded">): string {
  if (error instanceof McpCallRefused) return error.message;
  if (error instanceof McpServerNotStarted) return `${what} failed: failed to get client: MCP startup failed: ${error.reason}`;
  return `${what} failed: ${what} failed for ${place}: ${causeOf(error, { what, asRecorded })}`;
}

function causeOf(error: unknown, { what, asRecorded }: Pick<AnswerContext, "what" | "asRecorded">): string {
  if (error instanceof McpTimedOut) return `${describe(error)}: deadline has elapsed`;
  if (asRecorded && error instanceof McpRequestFailed && error.isMisfit) return `${what} failed: Unexpected response type`;
  return describe(error);
}

interface Asking {
  readonly signal: AbortSignal;
}

/** A kind of entry that servers list page by page. */
interface Listing {
  readonly method: string;
  /** The key of the list in a server's response and in ours. */
  readonly key: string;
  page(server: AgentServer, params: { cursor?: string }, asking: Asking): Promise<Page<Fields>>;
}

const RESOURCES: Listing = {
  method: "resources/list",
  key: "resources",
  async page(server, params, asking) {
    const { resources, nextCursor } = await server.request({ method: this.method, params, answer: ResourcePage }, asking);
    return { entries: resources, nextCursor };
  },
};

const TEMPLATES: Listing = {
  method: "resources/templates/list",
  key: "resourceTemplates",
  async page(server, params, asking) {
    const { resourceTemplates, nextCursor } = await server.request({ method: this.method, params, answer: TemplatePage }, asking);
    return { entries: resourceTemplates, nextCursor };
  },
};

/** One page of one server. */
async function pageOf(server: AgentServer, listing: Listing, cursor: string | undefined, asking: Asking): Promise<Fields> {
  const { entries, nextCursor } = await listing.page(server, cursor === undefined ? {} : { cursor }, asking);
  return { server: server.name, [listing.key]: entries.map(from(server)), ...(typeof nextCursor === "string" && { nextCursor }) };
}

/** All entries of all servers, by server name. A server that fails is left out, so that the others are still listed. */
async function listOfAll(servers: readonly AgentServer[], listing: Listing, asking: Asking): Promise<Fields> {
  const byName = servers.toSorted((a, b) => (a.name < b.name ? -1 : 1));
  const lists = await Promise.allSettled(
    byName.map(async (server) => {
      if (!(await server.hasResources(asking))) return [];
      const entries = await allPages(listing.method, (params) => listing.page(server, params, asking));
      return entries.map(from(server));
    }),
  );
  asking.signal.throwIfAborted();
  return { [listing.key]: lists.flatMap((list) => (list.status === "fulfilled" ? list.value : [])) };
}

function from(server: AgentServer): (entry: Fields) => Fields {
  return (entry) => ({ server: server.name, ...sortedKeys(entry) });
}
