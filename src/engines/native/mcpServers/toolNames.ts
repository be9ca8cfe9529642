import { createHash } from "node:crypto";

/** What the Responses API takes as the name of a function. */
const LONGEST_NAME = 64;
const UNSUPPORTED = /[^a-zA-Z0-9_-]/gu;

/** The names under which the model sees the tools of all servers. A name that was given stays with its tool. */
export class ToolNames {
  readonly #taken = new Set<string>();

  /** Undefined when the very same tool has a name already. */
  assign(server: string, tool: string): string | undefined {
    const raw = `mcp__${server}__${tool}`;
    const plain = raw.replaceAll(UNSUPPORTED, "_");
    const fitting = plain.length <= LONGEST_NAME && !this.#taken.has(plain) ? plain : withHash(plain, raw);
    if (this.#taken.has(fitting)) return undefined;
    this.#taken.add(fitting);
    return fitting;
  }
}

/** What the names of all tools of a server begin with. */
export function namePrefix(server: string): string {
  return `mcp__${server}__`.replaceAll(UNSUPPORTED, "_");
}

/** Of the name as the server wrote it, so that tools stay apart whose names became alike. */
function withHash(plain: string, raw: string): string {
  const hash = createHash("sha1").update(raw).digest("hex");
  return plain.slice(0, LONGEST_NAME - hash.length) + hash;
}
