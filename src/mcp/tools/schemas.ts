import * as z from "zod/mini";
import { APPROVAL_POLICIES, SANDBOX_MODES } from "../../exec/policies.js";

/** The arguments and results of the tools, declared once: `schemas.generated.json` is made from here, which is advertised and checked at each call. */

function told<T extends z.ZodMiniType>(schema: T, description: string): T {
  z.globalRegistry.add(schema, { description });
  return schema;
}

export const CodexArguments = z.object({
  "approval-policy": z.optional(
    told(z.enum(APPROVAL_POLICIES), "When the agent asks before it runs a command: `untrusted`, `on-failure`, `on-request` or `never`."),
  ),
  "base-instructions": z.optional(told(z.string(), "Instructions for the agent, in place of the built-in ones.")),
  "compact-prompt": z.optional(told(z.string(), "What the model is asked when a long conversation is summarised.")),
  config: z.optional(
    told(z.record(z.string(), z.unknown()), "Settings for this thread, laid over config.toml; dotted keys reach nested ones."),
  ),
  cwd: z.optional(told(z.string(), "Working directory; a relative one starts at the server's own.")),
  "developer-instructions": z.optional(told(z.string(), "Further instructions, given to the model in the developer role.")),
  model: z.optional(told(z.string(), "The model to use, e.g. `gpt-5.2-codex`.")),
  profile: z.optional(told(z.string(), "A profile of config.toml to start from.")),
  prompt: told(z.string(), "What the agent should do."),
  sandbox: z.optional(told(z.enum(SANDBOX_MODES), "What commands may touch: `read-only`, `workspace-write` or `danger-full-access`.")),
});

export type CodexArguments = z.infer<typeof CodexArguments>;

export const CodexReplyArguments = z.object({
  conversationId: z.optional(told(z.string(), "Older name of threadId.")),
  prompt: told(z.string(), "What to say next on this thread."),
  threadId: z.optional(told(z.string(), "The thread to continue, as a previous answer named it.")),
});

export type CodexReplyArguments = z.infer<typeof CodexReplyArguments>;

export const ThreadAnswer = z.object({ threadId: z.string(), content: z.string() });

const Named = told(z.string(), "The thread, as an answer named it.");
const Whole = (least: number, most: number) => z.int().check(z.gte(least), z.lte(most));

export const REVIEW_TARGETS = ["uncommitted", "branch", "commit", "custom"] as const;

export const ReviewArguments = z.object({
  branch: z.optional(told(z.string(), "For `branch`: what to compare with.")),
  commit: z.optional(told(z.string(), "For `commit`: its hash.")),
  cwd: z.optional(told(z.string(), "Working directory of a new thread.")),
  instructions: z.optional(told(z.string(), "For `custom`: what to review.")),
  model: z.optional(told(z.string(), "The model of a new thread.")),
  sandbox: z.optional(told(z.enum(SANDBOX_MODES), "The sandbox of a new thread.")),
  target: told(z.enum(REVIEW_TARGETS), "Uncommitted changes, all since a branch, one commit, or custom instructions."),
  threadId: z.optional(told(z.string(), "Review on this thread instead of a new one.")),
});

export type ReviewArguments = z.infer<typeof ReviewArguments>;

export const SteerArguments = z.object({ prompt: told(z.string(), "What the agent should consider."), threadId: Named });

export type SteerArguments = z.infer<typeof SteerArguments>;

export const CompactArguments = z.object({ threadId: Named });

export type CompactArguments = z.infer<typeof CompactArguments>;

export const ThreadsArguments = z.object({
  action: told(z.enum(["list", "fork", "archive", "unarchive"]), "What to do; all but `list` need `threadId`."),
  archived: z.optional(told(z.boolean(), "List archived threads instead.")),
  cursor: z.optional(told(z.string(), "`nextCursor` of the page before.")),
  cwd: z.optional(told(z.string(), "List threads of this directory only.")),
  limit: z.optional(told(Whole(1, 100), "Threads per page (25).")),
  search: z.optional(told(z.string(), "List threads that begin with a message holding this text.")),
  threadId: z.optional(Named),
});

export type ThreadsArguments = z.infer<typeof ThreadsArguments>;

export const ExecArguments = z.object({
  command: told(z.array(z.string()), "Program and arguments; no shell."),
  cwd: z.optional(told(z.string(), "Working directory.")),
  sandbox: z.optional(told(z.enum(SANDBOX_MODES), "What it may touch; as for a new thread unless given.")),
  timeoutMs: z.optional(told(Whole(1, 3_600_000), "Milliseconds it may take (60000).")),
});

export type ExecArguments = z.infer<typeof ExecArguments>;

export const ModelsArguments = z.object({});

export type ModelsArguments = z.infer<typeof ModelsArguments>;

export const AccountArguments = z.object({
  action: told(z.enum(["state", "login", "device-login", "logout"]), "What to do."),
  apiKey: z.optional(told(z.string(), "For `login`.")),
});

export type AccountArguments = z.infer<typeof AccountArguments>;

export const ConfigArguments = z.object({ cwd: z.optional(told(z.string(), "The directory the settings are for.")) });

export type ConfigArguments = z.infer<typeof ConfigArguments>;

export const ExecAnswer = z.object({ exitCode: z.number(), stdout: z.string(), stderr: z.string() });
