import type { Node } from "web-tree-sitter";
import { withoutEndLines } from "../../../lib/endLines.js";
import { runsScripts, UNREAD_COMMANDS } from "./words.js";

export interface PlainCommand {
  readonly words: readonly string[];
  /** Bash may replace a word by file names that look like options, such as `*` where a file is called `-delete`. */
  readonly mayGainOptions: boolean;
}

const SEQUENCES = new Set(["program", "list", "pipeline"]);
const CONNECTORS = new Set(["&&", "||", ";", "|", "\n"]);

// A line may be continued only after a blank: `-del\⏎ete` is one word to bash and two to the grammar.
const WORD_GAP = /^[ \t]+(?:\\\n[ \t]*)*$/;
const CONNECTOR_GAP = /^(?:[ \t\n]|(?<=[ \t])\\\n)*$/;
const LINE_BREAK = /^[ \t]*\n[ \t\n]*$/;

// The grammar treats these as blanks; in bash they are part of a word.
const FOREIGN_BLANKS_AND_CONTROLS = /[^\S \t\n]|(?![\t\n])\p{Cc}/u;

/**
 * The commands of a script of plain words joined by `&&`, `||`, `;`, `|` and line breaks. Undefined for anything that could make bash run
 * or write something else: expansions, redirections, subshells, assignments, control flow, comments, `&`.
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

/** Only blanks precede the first node and follow the last one. */
function coversAll(root: Node, script: string): boolean {
  const around = script.slice(0, root.firstChild?.startIndex) + script.slice(root.lastChild?.endIndex);
  return /^[ \t\n]*$/.test(around);
}

/** Two commands are separated by a connector or a line break, and nothing else. */
function areSeparate(nodes: readonly Node[], script: string): boolean {
  return gapsBetween(nodes, script).every((gap, at) =>
    (nodes[at]?.isNamed && nodes[at + 1]?.isNamed ? LINE_BREAK : CONNECTOR_GAP).test(gap),
  );
}

function gapsBetween(nodes: readonly Node[], script: string): string[] {
  return nodes.slice(1).map((node, at) => script.slice(nodes[at]?.endIndex, node.startIndex));
}

/** In characters, of all commands together. A command contains those in its expansions, so the work would grow with the square of their depth. */
const LONGEST_MENTIONED = 4 * 1024 * 1024;

/** The words of every command in the tree, whatever surrounds it. A word whose value is only known at run time is returned as written. */
export function mentionedCommands(root: Node): (readonly string[])[] {
  const commands = root.descendantsOfType("command").filter((node) => node !== null);
  if (commands.reduce((sum, { startIndex, endIndex }) => sum + endIndex - startIndex, 0) > LONGEST_MENTIONED) return [UNREAD_COMMANDS];
  // Text that the grammar cannot parse may be a command in bash, as `{a,b}` is.
  const misread = root.hasError ? root.descendantsOfType("ERROR").filter((node) => node !== null) : [];
  const words = commands.map(wordsOf);
  const runsShell = words.some(([program = ""]) => runsScripts(program));
  const scripts = [...scriptsOfVariables(root, { runsShell }), ...(runsShell ? scriptsOfInput(root) : [])];
  return [...words, ...misread.map(({ text }) => text.trim().split(/\s+/)), ...scripts.map((script) => ["bash", "-c", script])];
}

/** Bash runs the values of these variables. */
const SCRIPT_VARIABLES = new Set(["PS4", "PROMPT_COMMAND"]);
/** A script whose text is not known: the file that `BASH_ENV` names, or `ENV` for other shells. Many programs use `ENV` for something else. */
const UNKNOWN_SCRIPT = "$UNKNOWN";

function scriptsOfVariables(root: Node, { runsShell }: { readonly runsShell: boolean }): string[] {
  return root.descendantsOfType("variable_assignment").flatMap((assignment) => {
    const [name, value] = assignment?.namedChildren ?? [];
    if (!name || !value) return [];
    if (name.text === "BASH_ENV" || (name.text === "ENV" && runsShell)) return [UNKNOWN_SCRIPT];
    return SCRIPT_VARIABLES.has(name.text) ? [wordOf(value)] : [];
  });
}

/** What a shell in the script may get as its script: here-documents, here-strings, and the output of other commands as a file. */
function scriptsOfInput(root: Node): string[] {
  const documents = root.descendantsOfType(["heredoc_body", "herestring_redirect"]).filter((node) => node !== null);
  const texts = documents.map((node) => (node.type === "heredoc_body" ? node.text : wordOf(node.lastNamedChild ?? node)));
  return root.descendantsOfType("process_substitution").length > 0 ? [...texts, UNKNOWN_SCRIPT] : texts;
}

function wordsOf(command: Node): string[] {
  return command.namedChildren.filter((child) => child.type !== "variable_assignment" && !child.type.endsWith("redirect")).map(wordOf);
}

function wordOf(node: Node): string {
  const written = node.type === "command_name" ? (node.firstChild ?? node) : node;
  return plainWord(written)?.text ?? quotedWord(written) ?? written.text;
}

/** A word with a `$'…'` or `$"…"` part, which can spell the same program differently. */
function quotedWord(node: Node): string | undefined {
  const pieces = (node.type === "concatenation" ? node.children : [node]).map((child) =>
    child.type === "ansi_c_string" ? unescaped(child.text.slice(2, -1)) : plainWord(translated(child))?.text,
  );
  return pieces.every((piece) => piece !== undefined) ? pieces.join("") : undefined;
}

function translated(node: Node): Node {
  return node.type === "translated_string" ? (node.lastNamedChild ?? node) : node;
}

const ESCAPED = /\\(?:x([0-9a-f]{1,2})|u([0-9a-f]{1,4})|U([0-9a-f]{1,8})|([0-7]{1,3})|c(.)|(.))/gis;
const CONTROLS: Readonly<Record<string, string>> = {
  a: "\x07",
  b: "\b",
  e: "\x1b",
  E: "\x1b",
  f: "\f",
  n: "\n",
  r: "\r",
  t: "\t",
  v: "\v",
};

/** The text of `$'…'`. */
function unescaped(text: string): string {
  return text.replace(ESCAPED, (_, hex?: string, short?: string, long?: string, octal?: string, control?: string, letter = "") => {
    if (control !== undefined) return String.fromCharCode(control.charCodeAt(0) & 0x1f);
    const digits = hex ?? short ?? long;
    const code = digits === undefined ? (octal === undefined ? undefined : Number.parseInt(octal, 8) & 0xff) : Number.parseInt(digits, 16);
    if (code === undefined) return CONTROLS[letter] ?? letter;
    return code <= 0x10ffff ? String.fromCodePoint(code) : "";
  });
}

interface PlainWord {
  readonly text: string;
  /** Bash may replace the word by file names, and one of those could look like an option. */
  readonly mayBecomeOption: boolean;
}

/** A word whose value is certain without running anything; undefined for every other word. */
function plainWord(node: Node): PlainWord | undefined {
  const pieces = piecesOf(node);
  if (!pieces || hasBraceExpansion(pieces)) return undefined;
  const text = pieces.map((piece) => piece.text).join("");
  const globs = pieces.some((piece) => /[*?[]/.test(piece.bare));
  return { text, mayBecomeOption: globs && (text.startsWith("-") || /^[*?[]/.test(pieces[0]?.bare ?? "")) };
}

interface Piece {
  readonly text: string;
  /** The part that is neither quoted nor escaped. */
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
  // A lone backslash joins lines; the other characters end the word or have a meaning in bash that the grammar missed.
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

// `{a,b}` and `{1..9}` become several words, even if partly quoted.
function hasBraceExpansion(pieces: readonly Piece[]): boolean {
  const bare = pieces.map((piece) => piece.bare).join("");
  return bare.includes("{") && (bare.includes(",") || bare.includes(".."));
}

export interface HeredocPatch {
  readonly patch: string;
  /** As written in the script: relative to the command's working directory unless absolute. */
  readonly workdir?: string;
}

export const PATCH_PROGRAMS: readonly string[] = ["apply_patch", "applypatch"];

/** `apply_patch <<'EOF' …`, alone or as `cd dir && apply_patch <<'EOF' …`, with nothing before or after it. */
export function patchHeredoc(root: Node, script: string): HeredocPatch | undefined {
  const statement = root.firstNamedChild;
  if (root.hasError || root.childCount !== 1 || statement?.type !== "redirected_statement") return undefined;
  const [action, redirect, ...more] = statement.children;
  if (!action || redirect?.type !== "heredoc_redirect" || more.length > 0) return undefined;
  const patch = heredocText(redirect, script);
  if (patch === undefined) return undefined;
  if (isPatchCommand(action)) return { patch };
  const workdir = folderBeforePatch(action);
  return workdir === undefined ? undefined : { patch, workdir };
}

function heredocText(redirect: Node, script: string): string | undefined {
  const [operator, start, body, end] = redirect.children;
  if (redirect.childCount !== 4 || start?.type !== "heredoc_start" || body?.type !== "heredoc_body" || end?.type !== "heredoc_end")
    return undefined;
  // Taken from the script itself: the grammar's heredoc body lacks what it parses as an expansion or an indent.
  const text = script.slice(script.indexOf("\n", start.endIndex) + 1, end.startIndex);
  return operator?.type === "<<-" ? text.replace(/^\t+/gm, "").trimEnd() : withoutEndLines(text);
}

function isPatchCommand(node: Node): boolean {
  return node.type === "command" && node.childCount === 1 && PATCH_PROGRAMS.includes(node.text);
}

function folderBeforePatch(list: Node): string | undefined {
  const [change, connector, apply, ...more] = list.children;
  if (list.type !== "list" || connector?.type !== "&&" || !apply || !isPatchCommand(apply) || more.length > 0) return undefined;
  const [name, folder, ...extra] = change?.type === "command" ? change.children : [];
  return name?.text === "cd" && folder && extra.length === 0 ? plainWord(folder)?.text : undefined;
}
