import * as z from "zod/mini";
import type { AskedSettings } from "../../agent/grantedSettings.js";
import type { FileChange, FileChanges } from "../../exec/actions.js";
import { APPROVAL_POLICIES, SANDBOX_MODES, type SandboxPolicy } from "../../exec/policies.js";
import { isFields } from "../../lib/fields.js";
import { LONGEST_PATH } from "../../lib/files/kernelFiles.js";
import { type ThreadId, threadIdOf } from "../../lib/ids.js";
import { REASONING_SUMMARIES, type ThreadSettings } from "../../threads/settings.js";

/** An absent field, or null, which counts as absent. */
export function optional<T extends z.ZodMiniType>(schema: T) {
  return z.pipe(
    z.nullish(schema),
    z.transform((value) => value ?? undefined),
  );
}

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

export const ConversationId = z.pipe(
  z.string().check(z.regex(UUID, "must be the UUID of a conversation")),
  z.transform((id): ThreadId => threadIdOf(id.toLowerCase())),
);

export const SubscriptionId = z.string().check(z.regex(UUID, "must be a UUID"));

export const Words = z.string().check(z.minLength(1, "must not be empty"));

export const ApprovalPolicyWord = z.enum(APPROVAL_POLICIES);
const SandboxModeWord = z.enum(SANDBOX_MODES);
export const SummaryWord = z.enum(REASONING_SUMMARIES);
const AbsolutePath = z
  .string()
  .check(z.startsWith("/", "must be an absolute path"), z.maxLength(LONGEST_PATH, `must have at most ${LONGEST_PATH} characters`));

/** The limit of writable roots. Each is looked up on the disk before the request is judged. */
const MOST_ROOTS = 64;

/** The tag was `mode` in September 2025; since then it is `type`. */
export const SandboxPolicyShape = z.pipe(
  z.object({
    mode: optional(SandboxModeWord),
    type: optional(SandboxModeWord),
    writable_roots: optional(z.array(AbsolutePath).check(z.maxLength(MOST_ROOTS, `must have at most ${MOST_ROOTS} folders`))),
    network_access: optional(z.boolean()),
    exclude_tmpdir_env_var: optional(z.boolean()),
    exclude_slash_tmp: optional(z.boolean()),
  }),
  z.transform((policy, context): SandboxPolicy => {
    const type = policy.mode ?? policy.type;
    if (type === undefined) return wrong(policy, context, `needs \`mode\`: one of ${SANDBOX_MODES.join(", ")}`);
    if (type !== "workspace-write") return { type };
    const { writable_roots: roots = [], network_access = false, exclude_tmpdir_env_var = false, exclude_slash_tmp = false } = policy;
    return { type, ...(roots.length > 0 && { writable_roots: roots }), network_access, exclude_tmpdir_env_var, exclude_slash_tmp };
  }),
);

function wrong(input: unknown, { issues }: z.core.ParsePayload, message: string): never {
  issues.push({ code: "custom", message, input });
  return z.NEVER;
}

/** The settings of a new conversation: the same as for the tool `codex`, without the prompt. */
export const NewConversationShape = z.object({
  model: optional(z.string()),
  modelProvider: optional(z.string()),
  profile: optional(z.string()),
  cwd: optional(z.string()),
  approvalPolicy: optional(ApprovalPolicyWord),
  sandbox: optional(SandboxModeWord),
  config: optional(z.record(z.string(), z.unknown())),
  baseInstructions: optional(z.string()),
  developerInstructions: optional(z.string()),
  compactPrompt: optional(z.string()),
  includePlanTool: optional(z.boolean()),
  includeApplyPatchTool: optional(z.boolean()),
});

/** The two tools are always available, so whether to include them is accepted and ignored. */
export function askedSettings(params: z.output<typeof NewConversationShape>): AskedSettings {
  const { modelProvider, includePlanTool: _, includeApplyPatchTool: __, config, ...asked } = params;
  const provider = modelProvider === undefined ? {} : { model_provider: modelProvider };
  return config === undefined && modelProvider === undefined ? asked : { ...asked, config: { ...config, ...provider } };
}

/** The settings of a conversation in results. */
export function modelFields({ model, reasoningEffort }: ThreadSettings): { model: string; reasoningEffort?: string } {
  return { model, ...(reasoningEffort !== undefined && { reasoningEffort }) };
}

/** One part of a user message. */
export type InputPart = { readonly text: string } | { readonly imageUrl: string } | { readonly imagePath: string };

/** Codex's own format has the content under `data`; its documentation at the time had it beside `type`. */
const InputItem = z.pipe(
  z.looseObject({ type: z.enum(["text", "image", "localImage"]) }),
  z.transform((item, context): InputPart => {
    const fields = isFields(item["data"]) ? item["data"] : item;
    const found = (...names: readonly string[]) => names.map((name) => fields[name]).find((value) => typeof value === "string");
    switch (item.type) {
      case "text": {
        const text = found("text");
        return text === undefined ? wrong(item, context, "needs `data.text`, a string") : { text };
      }
      case "image": {
        const imageUrl = found("image_url", "url");
        if (imageUrl === undefined) return wrong(item, context, "needs `data.image_url`, a string");
        return IMAGE_ADDRESS.test(imageUrl)
          ? { imageUrl }
          : wrong(item, context, "`data.image_url` must be a data: or https: address of an image");
      }
      case "localImage": {
        const imagePath = found("path");
        return imagePath === undefined ? wrong(item, context, "needs `data.path`, a string") : { imagePath };
      }
    }
  }),
);

const IMAGE_ADDRESS = /^(?:data:image\/|https:\/\/)/i;

export const InputItems = z.array(InputItem).check(z.minLength(1, "must have at least one item"));

type OldFileChange =
  | { readonly add: { readonly content: string } }
  | { readonly delete: { readonly content: string } }
  | { readonly update: { readonly unified_diff: string; readonly move_path: string | null } };

/** Changes in the `applyPatchApproval` format of September 2025: the kind is the key. */
export function oldFileChanges(changes: FileChanges): Readonly<Record<string, OldFileChange>> {
  return Object.fromEntries(Object.entries(changes).map(([file, change]) => [file, oldFileChange(change)]));
}

function oldFileChange(change: FileChange): OldFileChange {
  switch (change.type) {
    case "add":
      return { add: { content: change.content } };
    case "delete":
      return { delete: { content: change.content } };
    case "update":
      return { update: { unified_diff: change.unified_diff, move_path: change.move_path } };
  }
}
