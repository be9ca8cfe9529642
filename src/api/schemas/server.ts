import { z } from "@hono/zod-openapi";
import { orNull, Time } from "./common.js";

export const Health = z
  .object({
    status: z.enum(["ok", "shutting down"]),
    version: z.string(),
    engine: z.string(),
    instance: z.string(),
    startedAt: Time,
    console: z.string().nullable().openapi({ description: "Where the console is served." }),
  })
  .openapi("Health");

export const Me = z
  .object({
    principal: z.string(),
    scopes: z.array(z.enum(["call", "read", "manage", "operator"])),
    by: z
      .enum(["user", "token", "cookie"])
      .openapi({ description: "How the server knows: the machine's user, a bearer token, or the console's cookie." }),
    roots: z.array(z.string()).nullable().openapi({ description: "The folders that turns may work in, where the caller has its own." }),
  })
  .openapi("Me");

export const Model = z
  .object({
    model: z.string(),
    displayName: z.string(),
    isDefault: z.boolean(),
    efforts: z.array(z.string()),
    offered: z.boolean(),
    shutdownDate: z.string().nullable(),
  })
  .openapi("Model");
export const ModelList = z.object({ models: z.array(Model) }).openapi("ModelList");

const KEY_LIMIT = z.object({ limit: z.number(), remaining: z.number(), resetsAt: Time.nullable() }).openapi("KeyLimit");
const WINDOW = z
  .object({ usedPercent: z.number(), windowMinutes: z.number().nullable(), resetsAt: Time.nullable() })
  .openapi("LimitWindow");

export const AccountResource = z
  .object({
    kind: z.enum(["none", "apiKey", "chatgpt"]),
    isNeeded: z.boolean().openapi({ description: "Turns fail before somebody logs in." }),
    remedy: z.string().nullable(),
    source: z.string().nullable().openapi({ description: "Where the key comes from; never the key." }),
    email: z.string().nullable(),
    plan: z.string().nullable(),
    limits: z
      .object({
        at: Time,
        primary: orNull(WINDOW),
        secondary: orNull(WINDOW),
        requests: orNull(KEY_LIMIT),
        tokens: orNull(KEY_LIMIT),
      })
      .nullable(),
  })
  .openapi("Account");

export const ConfigResource = z
  .object({ cwd: z.string().nullable(), config: z.record(z.string(), z.unknown()).openapi({ description: "Secrets masked." }) })
  .openapi("Config");

export const Project = z
  .object({
    cwd: z.string(),
    threads: z.number().int(),
    running: z.number().int(),
    waiting: z.number().int(),
    updatedAt: Time,
  })
  .openapi("Project");
export const ProjectList = z
  .object({
    projects: z.array(Project),
    complete: z.boolean().openapi({ description: "False when only the newest threads were looked at." }),
  })
  .openapi("ProjectList");

export const DoctorFindingForm = z
  .object({
    subject: z.string(),
    verdict: z.enum(["ok", "note", "fails"]),
    text: z.string().openapi({ description: "What was found and, where something is wrong, how to mend it." }),
  })
  .openapi("DoctorFinding");
export const DoctorReport = z.object({ ok: z.boolean(), findings: z.array(DoctorFindingForm) }).openapi("DoctorReport");

export const LoginBody = z
  .strictObject({
    code: z.string().max(200).optional().openapi({ description: "The one-time code of the address that the server printed." }),
  })
  .openapi("Login");
export const LoginCode = z
  .object({ address: z.string().openapi({ description: "The console's address with a fresh one-time code." }), expiresAt: Time })
  .openapi("LoginCode");
