import * as z from "zod/mini";
import { APPROVAL_POLICIES, SANDBOX_MODES } from "../../threads/model.js";

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
