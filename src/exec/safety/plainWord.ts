import type { Node } from "web-tree-sitter";

export interface PlainWord {
  readonly text: string;
  /** Bash may replace it by file names, and one of those could look like an option. */
  readonly mayBecomeOption: boolean;
}

/** A word whose value is certain without running anything; undefined for every other. */
export function plainWord(node: Node): PlainWord | undefined {
  const pieces = piecesOf(node);
  if (!pieces || hasBraceExpansion(pieces)) return undefined;
  const text = pieces.map((piece) => piece.text).join("");
  const globs = pieces.some((piece) => /[*?[]/.test(piece.bare));
  return { text, mayBecomeOption: globs && (text.startsWith("-") || /^[*?[]/.test(pieces[0]?.bare ?? "")) };
}

interface Piece {
  readonly text: string;
  /** What of it is neither quoted nor escaped. */
  readonly bare: string;
}

function piecesOf(node: Node): Piece[] | undefined {
  if (node.type !== "concatenation") {
    const piece = pieceOf(node);
    return piece && [piece];
  }
  const pieces: Piece[] = [];
  let end = node.startIndex;
  for (const child of node.children) {
    const piece = pieceOf(child);
    if (!piece || child.startIndex !== end) return undefined;
    pieces.push(piece);
    end = child.endIndex;
  }
  return pieces;
}

function pieceOf(node: Node): Piece | undefined {
  switch (node.type) {
    case "word":
    case "number":
      return barePiece(node);
    case "raw_string":
      return { text: node.text.slice(1, -1), bare: "" };
    case "string":
      return doubleQuotedPiece(node);
    default:
      return undefined;
  }
}

function barePiece(node: Node): Piece | undefined {
  if (node.namedChildCount > 0) return undefined;
  const bare = node.text.replace(/\\[^\n]/gsu, "");
  // A lone backslash joins lines; the rest would end the word or mean something to bash that the grammar did not see.
  if (/[\\$`<>()&|;"'\s]/.test(bare)) return undefined;
  return { text: node.text.replace(/\\(.)/gsu, "$1"), bare };
}

function doubleQuotedPiece(node: Node): Piece | undefined {
  if (node.namedChildren.some((child) => child.type !== "string_content") || node.children.some((child) => child.type === "$"))
    return undefined;
  const inner = node.text.slice(1, -1);
  if (inner.includes("\\\n")) return undefined;
  return { text: inner.replace(/\\([$`"\\])/g, "$1"), bare: "" };
}

// `{a,b}` and `{1..9}` become several words, whatever part of them is quoted.
function hasBraceExpansion(pieces: readonly Piece[]): boolean {
  const bare = pieces.map((piece) => piece.bare).join("");
  return bare.includes("{") && (bare.includes(",") || bare.includes(".."));
}
