import type { Node } from "web-tree-sitter";
import { plainWord } from "./plainWord.js";

/** The words of every command in the tree, whatever surrounds it; a word that only a run would tell is given as it was written. */
export function mentionedCommands(root: Node): string[][] {
  return root
    .descendantsOfType("command")
    .filter((node) => node !== null)
    .map(wordsOf);
}

function wordsOf(command: Node): string[] {
  return command.namedChildren.filter((child) => child.type !== "variable_assignment" && !child.type.endsWith("redirect")).map(wordOf);
}

function wordOf(node: Node): string {
  const written = node.type === "command_name" ? (node.firstChild ?? node) : node;
  return plainWord(written)?.text ?? written.text;
}
