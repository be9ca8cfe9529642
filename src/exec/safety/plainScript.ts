import type { Node } from "web-tree-sitter";
import { plainWord } from "./plainWord.js";

export interface PlainCommand {
  readonly words: readonly string[];
  /** A word may be replaced by file names that look like options, such as `*` where a file is called `-delete`. */
  readonly mayGainOptions: boolean;
}

const SEQUENCES = new Set(["program", "list", "pipeline"]);
const CONNECTORS = new Set(["&&", "||", ";", "|", "\n"]);

// A line may be continued only after a blank: `-del\⏎ete` is one word to bash and two to the grammar.
const WORD_GAP = /^[ \t]+(?:\\\n[ \t]*)*$/;
const CONNECTOR_GAP = /^(?:[ \t\n]|(?<=[ \t])\\\n)*$/;
const LINE_BREAK = /^[ \t]*\n[ \t\n]*$/;

// The grammar takes these for blanks; to bash they are part of a word.
const FOREIGN_BLANKS_AND_CONTROLS = /[^\S \t\n]|(?![\t\n])\p{Cc}/u;

/**
 * The commands of a script made of plain words joined by `&&`, `||`, `;`, `|` and line breaks. Anything that could make bash
 * run or write something else (expansions, redirections, subshells, assignments, control flow, comments, `&`) gives undefined.
 */
export function plainCommands(root: Node, script: string): PlainCommand[] | undefined {
  if (root.hasError || FOREIGN_BLANKS_AND_CONTROLS.test(script) || !coversAll(root, script)) return undefined;
  const commands: PlainCommand[] = [];
  const pending = [root];
  for (let node = pending.pop(); node; node = pending.pop()) {
    if (node.type === "command") {
      const command = plainCommand(node, script);
      if (!command) return undefined;
      commands.push(command);
    } else if (SEQUENCES.has(node.type)) {
      const children = node.children;
      if (!areSeparate(children, script)) return undefined;
      for (const child of children.reverse()) pending.push(child);
    } else if (node.isNamed || !CONNECTORS.has(node.type)) return undefined;
  }
  return commands.length > 0 ? commands : undefined;
}

function plainCommand(node: Node, script: string): PlainCommand | undefined {
  const [name, ...args] = node.children;
  const program = name?.type === "command_name" ? programWord(name) : undefined;
  if (program === undefined || !gapsBetween(node.children, script).every((gap) => WORD_GAP.test(gap))) return undefined;
  const words = args.map(plainWord).filter((word) => word !== undefined);
  if (words.length < args.length) return undefined;
  return { words: [program, ...words.map((word) => word.text)], mayGainOptions: words.some((word) => word.mayBecomeOption) };
}

function programWord(name: Node): string | undefined {
  const word = name.firstChild;
  return word?.type === "word" && !name.text.includes("\\") ? plainWord(word)?.text : undefined;
}

/** Nothing but blanks before the first and behind the last node. */
function coversAll(root: Node, script: string): boolean {
  const around = script.slice(0, root.firstChild?.startIndex) + script.slice(root.lastChild?.endIndex);
  return /^[ \t\n]*$/.test(around);
}

/** Two commands have a connector or a line break between them, and nothing else. */
function areSeparate(nodes: readonly Node[], script: string): boolean {
  return gapsBetween(nodes, script).every((gap, at) =>
    (nodes[at]?.isNamed && nodes[at + 1]?.isNamed ? LINE_BREAK : CONNECTOR_GAP).test(gap),
  );
}

function gapsBetween(nodes: readonly Node[], script: string): string[] {
  return nodes.slice(1).map((node, at) => script.slice(nodes[at]?.endIndex, node.startIndex));
}
