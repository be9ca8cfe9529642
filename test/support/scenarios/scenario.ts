import { readdirSync, readFileSync } from "node:fs";
import * as z from "zod/mini";

const FOLDER = new URL("../../scenarios/", import.meta.url);

const conditionSchema = z.strictObject({
  response: z.optional(z.unknown()),
  request: z.optional(z.string()),
  notification: z.optional(z.string()),
  /** The `msg.type` of a `codex/event`. */
  event: z.optional(z.string()),
  /** Required values at these dotted paths. */
  where: z.optional(z.record(z.string(), z.unknown())),
});

const stepSchema = z.union([
  z.strictObject({ send: z.unknown() }),
  z.strictObject({ raw: z.string() }),
  z.strictObject({
    wait: conditionSchema,
    /** Variable → dotted path into the message. */
    save: z.optional(z.record(z.string(), z.string())),
    timeout: z.optional(z.number()),
    unless: z.optional(conditionSchema),
    /** Some servers are expected not to send it. */
    absent: z.optional(z.literal(true)),
  }),
  z.strictObject({ sleep: z.number() }),
  z.strictObject({ quiet: z.number() }),
  z.strictObject({ eof: z.literal(true) }),
  z.strictObject({ signal: z.enum(["SIGTERM", "SIGINT", "SIGHUP"]) }),
  z.strictObject({ exit: z.number() }),
  z.strictObject({ restart: z.literal(true) }),
  z.strictObject({ list: z.literal(true) }),
  z.strictObject({ procs: z.literal(true) }),
]);

const scenarioSchema = z.strictObject({
  name: z.string(),
  about: z.string(),
  /** TOML lines for the top of config.toml. */
  config: z.optional(z.string()),
  /** TOML lines for the scripted model's provider table, instead of the two that forbid retries. */
  provider: z.optional(z.string()),
  /** TOML lines for the end of config.toml. */
  tables: z.optional(z.string()),
  files: z.optional(z.record(z.string(), z.string())),
  env: z.optional(z.record(z.string(), z.string())),
  args: z.optional(z.array(z.string())),
  /** Shows behaviour of Codex 0.92.0 itself, which a newer Codex behind our server has changed. */
  engine: z.optional(z.literal("native")),
  /** Record the requests to the model. */
  recordModel: z.optional(z.boolean()),
  steps: z.array(stepSchema),
});

/** Which message a step waits for; every given part must match. */
export type Condition = z.infer<typeof conditionSchema>;

/** One action of the client; steps run in order. */
export type Step = z.infer<typeof stepSchema>;

/** The actions of a client on a server, and their environment. */
export type Scenario = z.infer<typeof scenarioSchema>;

export function parseScenario(json: unknown): Scenario {
  return scenarioSchema.parse(json);
}

export function allScenarios(): Scenario[] {
  const names = readdirSync(FOLDER).filter((name) => name.endsWith(".json"));
  return names.sort().map((name) => parseScenario(JSON.parse(readFileSync(new URL(name, FOLDER), "utf8"))));
}

/** The value at a dotted path, undefined if the path does not exist. */
export function valueAt(value: unknown, dottedPath: string): unknown {
  return dottedPath.split(".").reduce<unknown>((inner, key) => (isRecord(inner) ? inner[key] : undefined), value);
}

export function fits(message: unknown, condition: Condition): boolean {
  if (!isRecord(message)) return false;
  const { id, method } = message;
  const asked = "id" in message;
  if ("response" in condition && (method !== undefined || !asked || !sameJson(id, condition.response))) return false;
  if (condition.request !== undefined && !(asked && method === condition.request)) return false;
  if (condition.notification !== undefined && !(!asked && method === condition.notification)) return false;
  if (condition.event !== undefined && !(method === "codex/event" && valueAt(message, "params.msg.type") === condition.event)) return false;
  return Object.entries(condition.where ?? {}).every(([path, wanted]) => sameJson(valueAt(message, path), wanted));
}

export function sameJson(one: unknown, other: unknown): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}

export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null;
}
