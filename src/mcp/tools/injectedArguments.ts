/** An argument that a client adds by itself to whatever its model says. */
interface InjectedArgument {
  readonly name: string;
  readonly client: string;
  /** Where that was seen. */
  readonly source: string;
}

/**
 * What clients are known to add to the arguments of every tool. A model that names such an argument means nothing by it, so that it is passed over;
 * any other unknown argument is a mistake, and is refused.
 */
export const INJECTED_ARGUMENTS: readonly InjectedArgument[] = [
  { name: "_meta", client: "programs on langchain-mcp-adapters", source: "langchain-ai/langchain-mcp-adapters#410" },
  { name: "sessionId", client: "n8n", source: "n8n-io/n8n#22787" },
  { name: "task_progress", client: "Cline", source: "cline/cline#9684" },
  { name: "tool", client: "n8n", source: "n8n-io/n8n#21500" },
  { name: "toolCallId", client: "n8n", source: "n8n-io/n8n#21500" },
  { name: "wait_for_previous", client: "Gemini CLI", source: "MemPalace/mempalace#322" },
];

const NAMES: ReadonlySet<string> = new Set(INJECTED_ARGUMENTS.map(({ name }) => name));

export function isInjected(name: string): boolean {
  return NAMES.has(name);
}

/** What the answer says of the arguments of a call that are passed over because its client has added them. */
export function remarkOnInjected(args: Readonly<Record<string, unknown>>, known: Readonly<Record<string, unknown>>): readonly string[] {
  const names = Object.keys(args).filter((name) => isInjected(name) && !Object.hasOwn(known, name));
  return names.length === 0 ? [] : [`Ignored, since clients add it to every call: ${names.map((name) => `\`${name}\``).join(", ")}.`];
}
