/** An argument that a client adds to every call, independent of its model. */
interface InjectedArgument {
  readonly name: string;
  readonly client: string;
  /** Where this was observed. */
  readonly source: string;
}

/** Arguments that clients are known to add to every tool call. They are ignored. Any other unknown argument is a mistake and is refused. */
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

/** The remark in a result about ignored arguments. */
export function remarkOnInjected(args: Readonly<Record<string, unknown>>, known: Readonly<Record<string, unknown>>): readonly string[] {
  const names = Object.keys(args).filter((name) => isInjected(name) && !Object.hasOwn(known, name));
  return names.length === 0 ? [] : [`Ignored, since clients add it to every call: ${names.map((name) => `\`${name}\``).join(", ")}.`];
}
