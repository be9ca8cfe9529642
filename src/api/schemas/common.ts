import { z } from "@hono/zod-openapi";

/** A thing of a name, or nothing: a reference beside `null`, which the document could not say of the reference itself. */
export function orNull<Schema extends z.ZodType>(schema: Schema) {
  return z.union([schema, z.null()]);
}

/** Every answer that is an error, as RFC 9457 has it. `code` is for programs; `detail` says what was attempted and what to do. */
export const Problem = z
  .object({
    type: z.literal("about:blank"),
    title: z.string(),
    status: z.number().int(),
    detail: z.string(),
    code: z.string().openapi({ description: "The agent's own word for it, such as `thread_not_found`, `above_ceiling`, `scope_missing`." }),
    advice: z.string().optional().openapi({ description: "What helps, where `detail` is worded by somebody else." }),
    errors: z
      .array(z.object({ path: z.string(), message: z.string() }))
      .optional()
      .openapi({ description: "With `invalid_request`: what of the request cannot be taken." }),
    settlement: z
      .lazy(() => Settlement)
      .optional()
      .openapi({ description: "With `question_settled`: how, and by whom." }),
  })
  .openapi("Problem");
export type Problem = z.infer<typeof Problem>;

export const ThreadIdParam = z.uuid().openapi({ param: { name: "threadId", in: "path" }, example: "01a1dd1a-6d22-73e1-88aa-ccf523ae5caa" });

export const Time = z.iso.datetime().openapi({ example: "2026-11-16T16:00:00.000Z" });

/** What a person, a client or a rule made of a question. */
export const Settlement = z
  .object({
    decision: z.enum(["approved", "approvedForSession", "approvedPrefix", "denied", "answered", "abort"]),
    by: z
      .enum(["elicitation", "client", "fallback", "ceiling", "deadline", "withdrawal", "tool", "http", "console", "jsonrpc", "unknown"])
      .openapi({ description: "By which way the answer came." }),
    who: z.string().nullable().openapi({ description: "The principal who answered; null where nobody did, or on stdio." }),
    at: Time,
  })
  .openapi("Settlement");
export type Settlement = z.infer<typeof Settlement>;

export const Tokens = z
  .object({
    input: z.number(),
    cachedInput: z.number(),
    output: z.number(),
    reasoning: z.number(),
    total: z.number(),
  })
  .openapi("Tokens");
export type Tokens = z.infer<typeof Tokens>;

export const SandboxModeName = z.enum(["read-only", "workspace-write", "danger-full-access"]);
export const ApprovalPolicyName = z.enum(["untrusted", "on-failure", "on-request", "never"]);

/** A change to one file, ready to be shown. */
export const FileDiff = z
  .object({
    path: z.string(),
    kind: z.enum(["add", "delete", "update"]),
    movedTo: z.string().nullable(),
    diff: z.string().openapi({ description: "Hunks of a unified diff, without the two lines that name the file." }),
    hasLineNumbers: z.boolean().openapi({ description: "False where only the agent's patch is known: numbers in `@@` count from 1 then." }),
    added: z.number(),
    removed: z.number(),
    truncated: z.boolean(),
  })
  .openapi("FileDiff");
export type FileDiff = z.infer<typeof FileDiff>;

export const PlanSteps = z
  .object({
    explanation: z.string().nullable(),
    steps: z.array(z.object({ step: z.string(), status: z.enum(["pending", "in_progress", "completed"]) })),
  })
  .openapi("Plan");
export type PlanSteps = z.infer<typeof PlanSteps>;

export const FindingForm = z
  .object({
    priority: z.number().nullable().openapi({ description: "0 is the worst, 3 a detail." }),
    title: z.string(),
    file: z.string(),
    lines: z.object({ first: z.number(), last: z.number() }).nullable(),
    body: z.string(),
    confidence: z.number().nullable(),
  })
  .openapi("Finding");
