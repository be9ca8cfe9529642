import { z } from "@hono/zod-openapi";
import { ApprovalPolicyName, FileDiff, FindingForm, orNull, PlanSteps, SandboxModeName, Settlement, Time, Tokens } from "./common.js";

export const TurnStep = z
  .object({
    kind: z.enum([
      "starting",
      "thinking",
      "answering",
      "command",
      "patch",
      "tool",
      "plan",
      "waiting",
      "retrying",
      "compacting",
      "reviewing",
    ]),
    text: z.string().openapi({ description: "One line, such as the running command." }),
  })
  .openapi("Step");
export type TurnStep = z.infer<typeof TurnStep>;

export const Activity = z
  .object({
    ms: z.number().openapi({ description: "Since the turn began." }),
    step: TurnStep,
    queued: z.number().int().openapi({ description: "The number of turns that wait behind it." }),
    approvals: z.array(z.string()).openapi({ description: "The open questions it waits for." }),
  })
  .openapi("Activity");

export const ThreadState = z.enum(["idle", "running", "waiting"]).openapi({ description: "`waiting`: the turn waits for an answer." });

const SUMMARY = {
  id: z.uuid(),
  name: z.string().nullable(),
  preview: z.string().openapi({ description: "The user's first message, shortened to one line." }),
  cwd: z.string(),
  createdAt: Time,
  updatedAt: Time,
  archived: z.boolean(),
  state: ThreadState,
  activity: orNull(Activity),
};

export const ThreadSummaryResource = z.object(SUMMARY).openapi("ThreadSummary");
export type ThreadSummaryResource = z.infer<typeof ThreadSummaryResource>;

export const ThreadPageResource = z
  .object({ threads: z.array(ThreadSummaryResource), nextCursor: z.string().nullable() })
  .openapi("ThreadPage");

export const TurnFile = z
  .object({ path: z.string(), kind: z.enum(["add", "delete", "update"]), added: z.number().nullable(), removed: z.number().nullable() })
  .openapi("TurnFile");

export const TurnResource = z
  .object({
    id: z.string(),
    threadId: z.uuid(),
    status: z.enum(["queued", "running", "waiting", "completed", "failed", "interrupted"]),
    prompt: z.string(),
    startedAt: Time.nullable(),
    ms: z.number(),
    step: orNull(TurnStep),
    answer: z.string().nullable().openapi({ description: "The agent's last message." }),
    error: z.string().nullable(),
    files: z.array(TurnFile).nullable().openapi({ description: "What changed on disk; null where that is unknown." }),
    commands: z.object({ run: z.number(), failed: z.number() }),
    approvals: z.object({ asked: z.number(), allowed: z.number(), denied: z.number() }),
    usage: orNull(Tokens),
    threadUsage: orNull(Tokens),
    costUsd: z.number().nullable(),
    model: z.string().nullable(),
    sandbox: z.object({ policy: z.string(), enforcedBy: z.string() }).nullable(),
    notices: z.array(z.string()),
    findings: z.array(FindingForm),
  })
  .openapi("Turn");
export type TurnResource = z.infer<typeof TurnResource>;

export const ThreadResource = z
  .object({
    ...SUMMARY,
    model: z.string().nullable(),
    effort: z.string().nullable(),
    sandbox: orNull(SandboxModeName),
    approvalPolicy: orNull(ApprovalPolicyName),
    usage: orNull(Tokens).openapi({ description: "Of the whole thread." }),
    contextWindow: z.number().nullable(),
    contextTokens: z.number().nullable().openapi({ description: "How many tokens of the context window the last request used." }),
    turns: z.array(TurnResource).openapi({ description: "The running turn and the queued ones, oldest first." }),
    plan: orNull(PlanSteps),
  })
  .openapi("Thread");
export type ThreadResource = z.infer<typeof ThreadResource>;

const WAIT = z
  .number()
  .min(0)
  .max(600)
  .optional()
  .openapi({ description: "Seconds to wait for the turn's end; without it the response comes at once. The turn continues in any case." });
const PROMPT = z.string().min(1).max(1_000_000).regex(/\S/, "Empty: say what the agent should do.");
const IMAGES = z
  .array(
    z
      .string()
      .regex(
        /^data:image\/(?:png|jpeg|gif|webp);base64,[A-Za-z0-9+/]+={0,2}$/,
        "Not a data URL of a PNG, JPEG, GIF or WebP image in base64.",
      ),
  )
  .max(16)
  .optional()
  .openapi({ description: "Images that go with the prompt, as data URLs: `data:image/png;base64,…`." });
/** The settings that can also be changed on an existing thread. */
const CHANGEABLE = {
  model: z.string().min(1).max(200).optional(),
  effort: z.string().min(1).max(40).optional(),
  sandbox: SandboxModeName.optional(),
  approvalPolicy: ApprovalPolicyName.optional(),
};

export const NewThreadBody = z
  .strictObject({
    prompt: PROMPT.optional().openapi({ description: "Without it, the thread is opened without a turn." }),
    images: IMAGES,
    cwd: z.string().min(1).max(4_096).optional(),
    ...CHANGEABLE,
    profile: z.string().min(1).max(200).optional(),
    developerInstructions: z.string().max(100_000).optional(),
    config: z
      .record(z.string(), z.unknown())
      .optional()
      .openapi({ description: "Like `-c key=value`; over the network only listed keys are allowed." }),
    wait: WAIT,
  })
  .openapi("NewThread");

export const PromptBody = z
  .strictObject({ prompt: PROMPT, images: IMAGES, ...CHANGEABLE, wait: WAIT })
  .openapi("Prompt", { description: "Given settings replace the thread's own from this turn on." });
export const SteerBody = z.strictObject({ text: PROMPT }).openapi("Steering");
export const ThreadPatchBody = z
  .strictObject({ name: z.string().min(1).max(200).optional(), archived: z.boolean().optional() })
  .openapi("ThreadChange");

export const ThreadStart = z
  .object({
    thread: ThreadSummaryResource,
    turn: orNull(TurnResource).openapi({ description: "Null for a thread that was opened without a prompt." }),
  })
  .openapi("StartedThread");
export const TurnStart = z.object({ thread: ThreadSummaryResource, turn: TurnResource }).openapi("StartedTurn");

export const ThreadDiff = z
  .object({
    source: z.enum(["turn", "none"]).openapi({ description: "`turn`: only the changes by patches of the last turn that is still kept." }),
    unifiedDiff: z.string(),
    files: z.array(FileDiff),
  })
  .openapi("ThreadDiff");

export const FileLines = z
  .object({
    path: z.string().openapi({ description: "Relative to the thread's folder." }),
    firstLine: z.number().int().openapi({ description: "The number of the first of `lines`, counted from 1." }),
    lines: z.array(z.string()),
    totalLines: z.number().int().nullable().openapi({ description: "Null if the file is longer than the part that is read." }),
    truncated: z.boolean().openapi({ description: "Requested lines are missing at the end, or lines were shortened." }),
  })
  .openapi("FileLines");

const COMMAND_SUBJECT = z
  .object({
    command: z.array(z.string()),
    commandText: z.string(),
    cwd: z.string(),
    proposedPrefix: z.array(z.string()).nullable().openapi({ description: "What an approval for the session would allow, if known." }),
  })
  .openapi("CommandSubject");
const PATCH_SUBJECT = z
  .object({
    changes: z.array(FileDiff),
    grantRoot: z.string().nullable().openapi({ description: "Approval also lets the agent write anywhere below this folder." }),
    outside: z.record(z.string(), z.string()).openapi({ description: "Files outside the thread's folder → their real paths." }),
  })
  .openapi("PatchSubject");
const FORM_SUBJECT = z
  .object({ server: z.string(), message: z.string(), schema: z.record(z.string(), z.unknown()) })
  .openapi("FormSubject");

export const Decision = z.enum(["approve", "approve-for-session", "deny", "abort", "answer"]).openapi("Decision");

export const Approval = z
  .object({
    id: z.string(),
    threadId: z.uuid(),
    turnId: z.string(),
    threadName: z.string().nullable(),
    cwd: z.string().nullable().openapi({ description: "The folder the thread works in." }),
    kind: z.enum(["command", "patch", "form"]),
    itemId: z.string().nullable().openapi({ description: "The item of the thread that it is about: a command or a patch." }),
    reason: z.string().nullable().openapi({ description: "The reason for the question, as the model or the policy states it." }),
    deadline: Time.openapi({ description: "Denied if unanswered by then." }),
    staysInSandbox: z.boolean().openapi({ description: "If allowed, it still runs inside an enforced sandbox." }),
    needsPerson: z.boolean().openapi({ description: "Only a person may approve it: it is dangerous, or a rule requires a question." }),
    decisions: z.array(Decision).openapi({ description: "The allowed answers." }),
    command: orNull(COMMAND_SUBJECT),
    patch: orNull(PATCH_SUBJECT),
    form: orNull(FORM_SUBJECT),
    settlement: orNull(Settlement).openapi({ description: "Null while it is open." }),
  })
  .openapi("Approval");
export type Approval = z.infer<typeof Approval>;

export const ApprovalList = z.object({ approvals: z.array(Approval) }).openapi("ApprovalList");

export const AnswerBody = z
  .strictObject({
    decision: Decision,
    reason: z
      .string()
      .max(10_000)
      .optional()
      .openapi({ description: "With `deny`: what the agent should do instead. The model gets this text." }),
    content: z.record(z.string(), z.unknown()).optional().openapi({ description: "With `answer`: the fields of the form." }),
    text: z.string().max(100_000).optional().openapi({
      description:
        "With `answer`: the text of a single field, or several fields as a JSON object. With `deny`: the reason, if there is no `reason`.",
    }),
  })
  .openapi("Answer");
