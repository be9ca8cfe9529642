/** What a program says of itself: in the handshake, or in each request of the era without sessions. */
export interface ClientInfo {
  readonly name: string;
  readonly version?: string | undefined;
}

/** How a client treats what it is sent. Names are chosen by users, so it is a hint: nothing that has to be safe depends on it. */
export interface ClientProfile {
  /** The part of a successful result that its model sees; `everything` includes `_meta`. Of errors most show the text alone. */
  readonly shows: "text" | "structured" | "both" | "everything" | "unknown";
  /** It waits for a call as long as the call lasts, or gives it up after so many seconds, whatever progress it is told. */
  readonly waits: true | number;
  /** It does something with `codex/event` notifications. */
  readonly readsEvents: boolean;
  /** The form of a question that a person can submit in it: ours with a decision, or Codex's empty one. */
  readonly form: "decision" | "empty";
}

/** One row of what is known of clients. */
export interface KnownClient extends ClientProfile {
  /** For people. */
  readonly title: string;
  readonly name: RegExp;
  /** The versions that were looked at. */
  readonly version: string;
  readonly source: string;
}

const SEEN = "run against this server with a scripted model, November 2026";
/** What the official SDKs set for a request, and whoever is built on them and does not choose another. */
const SDK_WALL_S = 60;

/** The first row whose pattern fits counts. */
export const KNOWN_CLIENTS: readonly KnownClient[] = [
  {
    title: "Claude Code",
    name: /^claude-code$/,
    version: "2.1.197, 2.1.325",
    source: `${SEEN}: 400 s passed; limits on idle calls are moved by progress (changes of 2.1.187 to 2.1.222)`,
    shows: "structured",
    waits: true,
    readsEvents: false,
    form: "decision",
  },
  {
    title: "Codex",
    name: /^codex-mcp-client$/,
    version: "0.166.0",
    source: `${SEEN}; its screen does not submit a form whose optional text is empty`,
    shows: "structured",
    waits: 300,
    readsEvents: false,
    form: "empty",
  },
  {
    title: "Copilot CLI",
    name: /^copilot-cli$/,
    version: "1.0.102",
    source: `${SEEN}: 400 s passed`,
    shows: "both",
    waits: true,
    readsEvents: false,
    form: "decision",
  },
  {
    title: "Qwen Code",
    name: /^qwen-cli-mcp-client(-|$)/,
    version: "0.24.4",
    source: SEEN,
    shows: "both",
    waits: 600,
    readsEvents: false,
    form: "decision",
  },
  {
    title: "Gemini CLI",
    name: /^gemini-cli-mcp-client(-|$)/,
    version: "0.61",
    source: SEEN,
    shows: "text",
    waits: 600,
    readsEvents: false,
    form: "decision",
  },
  {
    title: "OpenCode",
    name: /^opencode$/,
    version: "1.18.33",
    source: `${SEEN}: 60 s since the last progress`,
    shows: "text",
    waits: true,
    readsEvents: false,
    form: "decision",
  },
  {
    title: "Continue",
    name: /^continue(-cli)?-client$/,
    version: "1.5.47",
    source: SEEN,
    shows: "text",
    waits: SDK_WALL_S,
    readsEvents: false,
    form: "decision",
  },
  {
    title: "AI SDK",
    name: /^ai-sdk-mcp-client$/,
    version: "1.0.101, 2.0.93",
    source: `${SEEN}; no limit of its own`,
    shows: "text",
    waits: true,
    readsEvents: false,
    form: "decision",
  },
  {
    title: "Cline",
    name: /^(@cline\/core|cline)$/i,
    version: "3.0.65",
    source: `${SEEN}; its setting \`timeout\` moves the limit`,
    shows: "everything",
    waits: SDK_WALL_S,
    readsEvents: false,
    form: "decision",
  },
  {
    title: "LangChain adapters",
    name: /^@langchain\/mcp-adapters$/,
    version: "1.1.4",
    source: `${SEEN}: of several texts just those, of a single one all of the result`,
    shows: "text",
    waits: SDK_WALL_S,
    readsEvents: false,
    form: "decision",
  },
  {
    title: "MCP Inspector",
    name: /^(mcp-)?inspector(-client|-cli)?$/,
    version: "2.12",
    source: `${SEEN}; people look at the whole of it`,
    shows: "everything",
    waits: SDK_WALL_S,
    readsEvents: true,
    form: "decision",
  },
  {
    title: "Cursor",
    name: /^cursor(-vscode)?$/,
    version: "not run here",
    source: "anthropics/claude-code#18684: shows `content`, 74 s passed",
    shows: "text",
    waits: SDK_WALL_S,
    readsEvents: false,
    form: "decision",
  },
  {
    title: "Claude Desktop and claude.ai",
    name: /^claude-ai$/,
    version: "not run here",
    source: "anthropics/claude-code#22542, #65643: 60 s to 4 min; #55677: shows `content`",
    shows: "text",
    waits: SDK_WALL_S,
    readsEvents: false,
    form: "decision",
  },
  {
    title: "VS Code",
    name: /^visual studio code( - insiders)?$/i,
    version: "not run here",
    source: "microsoft/vscode#261734, #274094: cancels after 5 min, or never",
    shows: "unknown",
    waits: 300,
    readsEvents: false,
    form: "decision",
  },
];

/** Whoever is not known: built on an SDK, most likely, and read by a program of which nothing is known. */
const UNKNOWN_CLIENT: ClientProfile = { shows: "unknown", waits: SDK_WALL_S, readsEvents: true, form: "decision" };

/** No name in the table is longer. */
const MAX_NAME_LENGTH = 100;

export function clientProfile(client: ClientInfo | undefined): ClientProfile {
  const name = client?.name ?? "";
  if (name.length > MAX_NAME_LENGTH) return UNKNOWN_CLIENT;
  return KNOWN_CLIENTS.find((known) => known.name.test(name)) ?? UNKNOWN_CLIENT;
}
