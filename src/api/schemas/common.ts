import { z } from "@hono/zod-openapi";

/** A named schema or null: a reference beside `null`, because OpenAPI cannot make the reference itself nullable. */
export function orNull<Schema extends z.ZodType>(schema: Schema) {
  return z.union([schema, z.null()]);
}

/** Every error response, in the format of RFC 9457. `code` is for programs; `detail` says what was attempted and what to do. */
export const Problem = z
  .object({
    type: z.literal("about:blank"),
    title: z.string(),
    status: z.number().int(),
    detail: z.string(),
    code: z.string().openapi({ description: "The agent's error code, such as `thread_not_found`, `above_ceiling`, `scope_missing`." }),
    advice: z.string().optional().openapi({ description: "A hint, where `detail` has another program's wording." }),
    errors: z
      .array(z.object({ path: z.string(), message: z.string() }))
      .optional()
      .openapi({ description: "With `invalid_request`: the invalid parts of the request." }),
    settlement: z
      .lazy(() => Settlement)
      .optional()
      .openapi({ description: "With `question_settled`: the decision and who made it." }),
  })
  .openapi("Problem");
export type Problem = z.infer<typeof Problem>;

export const ThreadIdParam = z.uuid().openapi({ param: { name: "threadId", in: "path" }, example: "01a1dd1a-6d22-73e1-88aa-ccf523ae5caa" });

export const Time = z.iso.datetime().openapi({ example: "2026-11-16T16:00:00.000Z" });

/** How a question was settled, by a person, a client or a rule. */
export const Settlement = z
  .object({
    decision: z.enum(["approved", "approvedForSession", "approvedPrefix", "denied", "answered", "abort"]),
    by: z
      .enum(["elicitation", "client", "fallback", "ceiling", "deadline", "withdrawal", "tool", "http", "console", "jsonrpc", "unknown"])
      .openapi({ description: "The channel through which the answer came." }),
    who: z.string().nullable().openapi({ description: "The principal who answered; null without an answer, or on stdio." }),
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

/** A change to one file, ready for display. */
export const FileDiff = z
  .object({
    path: z.string(),
    kind: z.enum(["add", "delete", "update"]),
    movedTo: z.string().nullable(),
    diff: z.string().openapi({ description: "Hunks of a unified diff, without the two header lines." }),
    hasLineNumbers: z
      .boolean()
      .openapi({ description: "False where only the agent's patch is known: line numbers in `@@` then count from 1." }),
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
    priority: z.number().nullable().openapi({ description: "0 is the most severe, 3 a detail." }),
    title: z.string(),
    file: z.string(),
    lines: z.object({ first: z.number(), last: z.number() }).nullable(),
    body: z.string(),
    confidence: z.number().nullable(),
  })
  .openapi("Finding");
