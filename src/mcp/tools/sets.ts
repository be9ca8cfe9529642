import { AppError } from "../../lib/errors.js";
import { isFields } from "../../lib/fields.js";
import type { ResultStyle } from "../wording/callResult.js";
import type { EventsShown } from "../wording/turnView.js";
import { givesStructured } from "./structuredSwitch.js";
import type { ToolDeclaration, ToolSetName } from "./tool.js";
import { type CatalogTool, LISTED_TOOLS } from "./tools.generated.js";

/** How the events of a call are shown to its client. */
export interface Presentation {
  /** Codex's events as `codex/event` notifications, unless the server or the client chooses otherwise. */
  readonly events: EventsShown;
  /** MCP progress notifications, for calls with a progress token. */
  readonly progress: boolean;
  /** MCP log messages: after the client has set a level, from the start, or never. */
  readonly logMessages: "on-request" | "from-start" | "never";
  readonly results: ResultStyle;
  /** Whether a call may return before its turn ends. The turn then continues. */
  readonly turnsOutliveCalls: boolean;
  /** The error for an unknown tool. */
  readonly unknownTool?: (name: string) => string;
}

/** A group of tools and how they present their results. */
interface ToolSet {
  readonly presentation: Presentation;
  readonly summary: string;
}

const OURS: Presentation = { events: "all", progress: true, logMessages: "on-request", results: "extended", turnsOutliveCalls: true };

/** The values of `--tools`. Each tool names its sets itself. */
export const TOOL_SETS: Readonly<Record<ToolSetName, ToolSet>> = {
  codex: { presentation: OURS, summary: "Codex's two tools and ours" },
  extras: { presentation: OURS, summary: "commands, models, account and settings, for people who ask for them" },
  "codex-original": {
    presentation: { ...OURS, results: "recorded", turnsOutliveCalls: false },
    summary: "the two tools of Codex 0.92.0, as it showed them",
  },
  "codex-cli": {
    presentation: {
      ...OURS,
      events: "none",
      results: "plain",
      turnsOutliveCalls: false,
      unknownTool: (name) => `Error in tool "${name}": Unknown tool: ${name}`,
    },
    summary: "the six tools of the npm package codex-mcp-server, with named sessions",
  },
  openoxide: {
    presentation: { ...OURS, events: "none", logMessages: "from-start", results: "plain", turnsOutliveCalls: false },
    summary: "the three tools of the OpenOxide design",
  },
};

export class ToolSetsClash extends AppError {
  readonly code = "tool_sets_clash";
}

/** A tool with the presentation of its set. */
export interface ServedTool extends CatalogTool {
  readonly presentation: Presentation;
}

/**
 * The tools of the sets, in the order in which clients see them. Throws `ToolSetsClash` if two sets have a tool with the same name.
 * Environment variables that a set reads also affect its list.
 */
export function toolsOf(names: readonly ToolSetName[], env: Readonly<NodeJS.ProcessEnv> = {}): readonly ServedTool[] {
  const served = new Map<string, ToolSetName>();
  return names.flatMap((set) =>
    LISTED_TOOLS.filter(({ sets }) => sets.includes(set)).map((tool) => {
      const { name } = tool.declaration;
      const other = served.get(name);
      if (other !== undefined) throw new ToolSetsClash(`The tool sets ${other} and ${set} both have a tool ${name}: choose one of them.`);
      served.set(name, set);
      const declaration = set === "codex-cli" && !givesStructured(env) ? withoutOutput(tool.declaration) : tool.declaration;
      return { ...tool, declaration, presentation: TOOL_SETS[set].presentation };
    }),
  );
}

/** The set that has a tool; undefined if none has. */
export function setWith(tool: string): string | undefined {
  return LISTED_TOOLS.find(({ declaration }) => declaration.name === tool)?.sets[0];
}

function withoutOutput(declaration: ToolDeclaration): ToolDeclaration {
  return Object.fromEntries(Object.entries(declaration).filter(([field]) => field !== "outputSchema")) as ToolDeclaration;
}

export function isToolSet(name: string): name is ToolSetName {
  return Object.hasOwn(TOOL_SETS, name);
}

/** As clients are shown them. With `modelNames`, the tool that all others refer to for `model` names them. */
export function declarationsOf(tools: readonly ServedTool[], modelNames: readonly string[] = []): readonly ToolDeclaration[] {
  return tools.map(({ declaration, sets }) =>
    modelNames.length > 0 && declaration.name === "codex" && sets.includes("codex") ? withModelNames(declaration, modelNames) : declaration,
  );
}

function withModelNames({ inputSchema, ...declaration }: ToolDeclaration, names: readonly string[]): ToolDeclaration {
  const schema = isFields(inputSchema) ? inputSchema : {};
  const properties = isFields(schema["properties"]) ? schema["properties"] : {};
  const model = isFields(properties["model"]) ? properties["model"] : {};
  const description = `${String(model["description"])} Offered: ${names.join(", ")}.`;
  return { ...declaration, inputSchema: { ...schema, properties: { ...properties, model: { ...model, description } } } };
}
