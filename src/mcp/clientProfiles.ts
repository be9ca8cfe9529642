/** How a client program identifies itself: in the handshake, or in each request of the stateless era. */
export interface ClientInfo {
  readonly name: string;
  readonly version?: string | undefined;
}

/** How a client handles responses. Users choose client names, so this is a hint: nothing that must be safe depends on it. */
export interface ClientProfile {
  /**
   * The part of a successful result that the client's model sees; `everything` includes `_meta`. Most clients show only the text of errors.
   */
  readonly shows: "text" | "structured" | "both" | "everything" | "unknown";
  /** `true` if the client waits as long as the call takes; otherwise its timeout in seconds, regardless of progress. */
  readonly waits: true | number;
  /** Whether the client uses `codex/event` notifications. */
  readonly readsEvents: boolean;
  /** The form that a person can submit in this client: ours with a decision field, or Codex's empty one. */
  readonly form: "decision" | "empty";
}

/** One row of the table of known clients. */
export interface KnownClient extends ClientProfile {
  /** A display name. */
  readonly title: string;
  readonly name: RegExp;
  /** The versions that were examined. */
  readonly version: string;
  readonly source: string;
}

const SEEN = "run against this server with a scripted model, November 2026";
/** The request timeout of the official SDKs, and of clients built on them that choose no other. */
const SDK_WALL_S = 60;

/** The first row whose pattern matches is used. */
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

/** The profile of an unknown client: most likely built on an SDK, and it is not known what its model sees. */
export const UNKNOWN_CLIENT: ClientProfile = { shows: "unknown", waits: SDK_WALL_S, readsEvents: true, form: "decision" };

/** No name in the table is longer. */
const MAX_NAME_LENGTH = 100;

export function clientProfile(client: ClientInfo | undefined): ClientProfile {
  const name = client?.name ?? "";
  if (name.length > MAX_NAME_LENGTH) return UNKNOWN_CLIENT;
  return KNOWN_CLIENTS.find((known) => known.name.test(name)) ?? UNKNOWN_CLIENT;
}
