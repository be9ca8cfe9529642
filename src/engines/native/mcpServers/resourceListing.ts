import type { Fields } from "../../../lib/fields.js";
import { sortedKeys } from "./callOutput.js";
import { allPages, type Page } from "./pages.js";
import { ResourcePage, TemplatePage } from "./results.js";
import type { McpServer } from "./server.js";

export interface Asking {
  readonly signal: AbortSignal;
}

/** A kind of thing that servers list page by page. */
export interface Listing {
  readonly method: string;
  /** What the list is called in a server's answer and in ours. */
  readonly key: string;
  page(server: McpServer, params: { cursor?: string }, asking: Asking): Promise<Page<Fields>>;
}

export const RESOURCES: Listing = {
  method: "resources/list",
  key: "resources",
  async page(server, params, asking) {
    const { resources, nextCursor } = await server.request({ method: this.method, params, answer: ResourcePage }, asking);
    return { entries: resources, nextCursor };
  },
};

export const TEMPLATES: Listing = {
  method: "resources/templates/list",
  key: "resourceTemplates",
  async page(server, params, asking) {
    const { resourceTemplates, nextCursor } = await server.request({ method: this.method, params, answer: TemplatePage }, asking);
    return { entries: resourceTemplates, nextCursor };
  },
};

/** One page of one server. */
export async function listOf(server: McpServer, listing: Listing, cursor: string | undefined, asking: Asking): Promise<Fields> {
  const { entries, nextCursor } = await listing.page(server, cursor === undefined ? {} : { cursor }, asking);
  return { server: server.name, [listing.key]: entries.map(from(server)), ...(typeof nextCursor === "string" && { nextCursor }) };
}

/** Everything of all servers, by their names. A server that cannot tell is left out, so that the others can be heard. */
export async function listOfAll(servers: readonly McpServer[], listing: Listing, asking: Asking): Promise<Fields> {
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

function from(server: McpServer): (entry: Fields) => Fields {
  return (entry) => ({ server: server.name, ...sortedKeys(entry) });
}
