import { z } from "@hono/zod-openapi";
import { orNull, Time } from "./common.js";

export const Health = z
  .object({
    status: z.enum(["ok", "shutting down"]),
    version: z.string(),
    engine: z.string(),
    instance: z.string(),
    startedAt: Time,
    console: z.string().nullable().openapi({ description: "The console's URL." }),
  })
  .openapi("Health");

export const Me = z
  .object({
    principal: z.string(),
    scopes: z.array(z.enum(["call", "read", "manage", "operator"])),
    by: z
      .enum(["user", "token", "cookie"])
      .openapi({ description: "How the caller is authenticated: as the machine's user, by a bearer token, or by the console's cookie." }),
    roots: z
      .array(z.string())
      .nullable()
      .openapi({ description: "The folders in which turns may work, if they are restricted for this caller." }),
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
    isNeeded: z.boolean().openapi({ description: "Turns fail until a login is completed." }),
    remedy: z.string().nullable(),
    source: z.string().nullable().openapi({ description: "The source of the key; never the key itself." }),
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
    complete: z.boolean().openapi({ description: "False when only the newest threads were examined." }),
  })
  .openapi("ProjectList");

export const DoctorFindingForm = z
  .object({
    subject: z.string(),
    verdict: z.enum(["ok", "note", "fails"]),
    text: z.string().openapi({ description: "The result and, where something is wrong, how to fix it." }),
  })
  .openapi("DoctorFinding");
export const DoctorReport = z.object({ ok: z.boolean(), findings: z.array(DoctorFindingForm) }).openapi("DoctorReport");

export const LoginBody = z
  .strictObject({
    code: z.string().max(200).optional().openapi({ description: "The one-time code from the URL that the server printed." }),
  })
  .openapi("Login");
export const LoginCode = z
  .object({ address: z.string().openapi({ description: "The console's URL with a new one-time code." }), expiresAt: Time })
  .openapi("LoginCode");
