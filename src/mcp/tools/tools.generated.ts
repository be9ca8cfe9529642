// Generated from the tools of this folder by scripts/generate-tools.ts. Do not edit.
import type { McpTool, ToolDeclaration } from "./tool.js";

/** A tool as lists show it; what it does is loaded with its first call. */
export interface CatalogTool {
  readonly declaration: ToolDeclaration;
  readonly sets: readonly string[];
  readonly servedInside: boolean;
  readonly load: () => Promise<McpTool>;
}

export const LISTED_TOOLS: readonly CatalogTool[] = [
  {
    declaration: {"description":"Starts a coding agent on a task in a working directory and returns its final answer with the id of the thread it runs on.","inputSchema":{"properties":{"prompt":{"type":"string","description":"What the agent should do."},"approval-policy":{"type":"string","enum":["untrusted","on-failure","on-request","never"],"description":"When the agent asks before it runs a command: `untrusted`, `on-failure`, `on-request` or `never`."},"base-instructions":{"type":"string","description":"Instructions for the agent, in place of the built-in ones."},"compact-prompt":{"type":"string","description":"What the model is asked when a long conversation is summarised."},"config":{"type":"object","additionalProperties":true,"description":"Settings for this thread, laid over config.toml; dotted keys reach nested ones."},"cwd":{"type":"string","description":"Working directory; a relative one starts at the server's own."},"developer-instructions":{"type":"string","description":"Further instructions, given to the model in the developer role."},"model":{"type":"string","description":"The model to use; the configured one unless given."},"profile":{"type":"string","description":"A profile of config.toml to start from."},"sandbox":{"type":"string","enum":["read-only","workspace-write","danger-full-access"],"description":"What commands may touch: `read-only`, `workspace-write` or `danger-full-access`."}},"required":["prompt"],"additionalProperties":false,"type":"object"},"name":"codex","outputSchema":{"properties":{"threadId":{"type":"string"},"content":{"type":"string"}},"required":["threadId","content"],"type":"object"},"title":"Codex"},
    sets: ["codex"],
    servedInside: false,
    load: async () => (await import("./codex.js")).codexTool,
  },
  {
    declaration: {"description":"Starts a coding agent on a task in a working directory and returns its final answer with the id of the thread it runs on.","inputSchema":{"properties":{"approval-policy":{"type":"string","enum":["untrusted","on-failure","on-request","never"],"description":"When the agent asks before it runs a command: `untrusted`, `on-failure`, `on-request` or `never`."},"base-instructions":{"type":"string","description":"Instructions for the agent, in place of the built-in ones."},"compact-prompt":{"type":"string","description":"What the model is asked when a long conversation is summarised."},"config":{"type":"object","additionalProperties":true,"description":"Settings for this thread, laid over config.toml; dotted keys reach nested ones."},"cwd":{"type":"string","description":"Working directory; a relative one starts at the server's own."},"developer-instructions":{"type":"string","description":"Further instructions, given to the model in the developer role."},"model":{"type":"string","description":"The model to use; the configured one unless given."},"profile":{"type":"string","description":"A profile of config.toml to start from."},"prompt":{"type":"string","description":"What the agent should do."},"sandbox":{"type":"string","enum":["read-only","workspace-write","danger-full-access"],"description":"What commands may touch: `read-only`, `workspace-write` or `danger-full-access`."}},"required":["prompt"],"type":"object"},"name":"codex","outputSchema":{"properties":{"threadId":{"type":"string"},"content":{"type":"string"}},"required":["threadId","content"],"type":"object"},"title":"Codex"},
    sets: ["codex-original"],
    servedInside: false,
    load: async () => (await import("./codexOriginal.js")).codexOriginalTool,
  },
  {
    declaration: {"description":"Continues a thread that `codex` started, also one of an earlier run of this server, with its history and settings.","inputSchema":{"properties":{"prompt":{"type":"string","description":"What to say next on this thread."},"threadId":{"type":"string","description":"The thread to continue, as a previous answer named it."},"conversationId":{"type":"string","description":"Older name of threadId."}},"required":["prompt"],"additionalProperties":false,"type":"object"},"name":"codex-reply","outputSchema":{"properties":{"threadId":{"type":"string"},"content":{"type":"string"}},"required":["threadId","content"],"type":"object"},"title":"Codex Reply"},
    sets: ["codex"],
    servedInside: false,
    load: async () => (await import("./codexReply.js")).codexReplyTool,
  },
  {
    declaration: {"description":"Continues a thread that `codex` started, also one of an earlier run of this server, with its history and settings.","inputSchema":{"properties":{"conversationId":{"type":"string","description":"Older name of threadId."},"prompt":{"type":"string","description":"What to say next on this thread."},"threadId":{"type":"string","description":"The thread to continue, as a previous answer named it."}},"required":["prompt"],"type":"object"},"name":"codex-reply","outputSchema":{"properties":{"threadId":{"type":"string"},"content":{"type":"string"}},"required":["threadId","content"],"type":"object"},"title":"Codex Reply"},
    sets: ["codex-original"],
    servedInside: false,
    load: async () => (await import("./codexReplyOriginal.js")).codexReplyOriginalTool,
  },
  {
    declaration: {"annotations":{"destructiveHint":false},"description":"Reviews changes in a git repository and returns the findings.","inputSchema":{"properties":{"branch":{"type":"string","description":"For `branch`: what to compare with."},"commit":{"type":"string","description":"For `commit`: its hash."},"cwd":{"type":"string","description":"Working directory of a new thread."},"instructions":{"type":"string","description":"For `custom`: what to review."},"model":{"type":"string","description":"The model of a new thread."},"sandbox":{"type":"string","enum":["read-only","workspace-write","danger-full-access"],"description":"The sandbox of a new thread."},"target":{"type":"string","enum":["uncommitted","branch","commit","custom"],"description":"Uncommitted changes, all since a branch, one commit, or custom instructions."},"threadId":{"type":"string","description":"Review on this thread instead of a new one."}},"required":["target"],"additionalProperties":false,"type":"object"},"name":"codex-review","outputSchema":{"properties":{"threadId":{"type":"string"},"content":{"type":"string"}},"required":["threadId","content"],"type":"object"},"title":"Codex Review"},
    sets: ["codex"],
    servedInside: false,
    load: async () => (await import("./review.js")).reviewTool,
  },
  {
    declaration: {"annotations":{"destructiveHint":false},"description":"Gives the turn that runs on a thread more to consider.","inputSchema":{"properties":{"prompt":{"type":"string","description":"What the agent should consider."},"threadId":{"type":"string","description":"The thread, as an answer named it."}},"required":["prompt","threadId"],"additionalProperties":false,"type":"object"},"name":"codex-steer","title":"Codex Steer"},
    sets: ["codex"],
    servedInside: false,
    load: async () => (await import("./steer.js")).steerTool,
  },
  {
    declaration: {"description":"Replaces the past of a long thread by a summary.","inputSchema":{"properties":{"threadId":{"type":"string","description":"The thread, as an answer named it."}},"required":["threadId"],"additionalProperties":false,"type":"object"},"name":"codex-compact","outputSchema":{"properties":{"threadId":{"type":"string"},"content":{"type":"string"}},"required":["threadId","content"],"type":"object"},"title":"Codex Compact"},
    sets: ["codex"],
    servedInside: false,
    load: async () => (await import("./compact.js")).compactTool,
  },
  {
    declaration: {"annotations":{"destructiveHint":false},"description":"Lists, forks or archives threads.","inputSchema":{"properties":{"action":{"type":"string","enum":["list","fork","archive","unarchive"],"description":"What to do; all but `list` need `threadId`."},"archived":{"type":"boolean","description":"List archived threads instead."},"cursor":{"type":"string","description":"`nextCursor` of the page before."},"cwd":{"type":"string","description":"List threads of this directory only."},"limit":{"type":"integer","minimum":1,"maximum":100,"description":"Threads per page (25)."},"search":{"type":"string","description":"List threads that begin with a message holding this text."},"threadId":{"type":"string","description":"The thread, as an answer named it."}},"required":["action"],"additionalProperties":false,"type":"object"},"name":"codex-threads","title":"Codex Threads"},
    sets: ["codex"],
    servedInside: false,
    load: async () => (await import("./threads.js")).threadsTool,
  },
  {
    declaration: {"description":"Runs one command in a sandbox, without a model.","inputSchema":{"properties":{"command":{"type":"array","items":{"type":"string"},"description":"Program and arguments; no shell."},"cwd":{"type":"string","description":"Working directory."},"sandbox":{"type":"string","enum":["read-only","workspace-write","danger-full-access"],"description":"What it may touch; as for a new thread unless given."},"timeoutMs":{"type":"integer","minimum":1,"maximum":3600000,"description":"Milliseconds it may take (60000)."}},"required":["command"],"additionalProperties":false,"type":"object"},"name":"codex-exec","outputSchema":{"properties":{"exitCode":{"type":"number"},"stdout":{"type":"string"},"stderr":{"type":"string"}},"required":["exitCode","stdout","stderr"],"type":"object"},"title":"Codex Exec"},
    sets: ["codex"],
    servedInside: false,
    load: async () => (await import("./exec.js")).execTool,
  },
  {
    declaration: {"annotations":{"readOnlyHint":true},"description":"Lists the models that can be named.","inputSchema":{"properties":{},"additionalProperties":false,"type":"object"},"name":"codex-models","title":"Codex Models"},
    sets: ["codex"],
    servedInside: true,
    load: async () => (await import("./models.js")).modelsTool,
  },
  {
    declaration: {"description":"Tells or changes who is logged in to the model's provider.","inputSchema":{"properties":{"action":{"type":"string","enum":["state","login","device-login","logout"],"description":"What to do."},"apiKey":{"type":"string","description":"For `login`."}},"required":["action"],"additionalProperties":false,"type":"object"},"name":"codex-account","title":"Codex Account"},
    sets: ["codex"],
    servedInside: false,
    load: async () => (await import("./account.js")).accountTool,
  },
  {
    declaration: {"annotations":{"readOnlyHint":true},"description":"Shows the settings in force in a directory, secrets masked.","inputSchema":{"properties":{"cwd":{"type":"string","description":"The directory the settings are for."}},"additionalProperties":false,"type":"object"},"name":"codex-config","title":"Codex Config"},
    sets: ["codex"],
    servedInside: false,
    load: async () => (await import("./config.js")).configTool,
  },
];
