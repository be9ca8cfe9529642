const TEXT = { type: "string" };
const NUMBER = { type: "number" };
const COUNT = { type: "integer" };
/** Older drafts of JSON Schema refuse an empty list of what is required. */
const objectOf = (properties: Readonly<Record<string, unknown>>, required: readonly string[] = []) => ({
  type: "object",
  properties,
  ...(required.length > 0 && { required }),
});
const listOf = (items: unknown) => ({ type: "array", items });
const TOKENS = objectOf({ input: COUNT, cachedInput: COUNT, output: COUNT, reasoning: COUNT, total: COUNT }, ["total"]);
const WINDOW = objectOf({ usedPercent: NUMBER, windowMinutes: { type: ["number", "null"] }, resetsAt: { type: ["number", "null"] } }, [
  "usedPercent",
]);

/** What a result tells of a turn beside thread and answer, as a schema for programs; `wording/turnReport.ts` fills it in. */
export const TURN_FIELDS = {
  status: { type: "string", enum: ["completed", "failed", "interrupted", "running"] },
  /** Of reviews. */
  findings: listOf(
    objectOf(
      {
        priority: { type: ["integer", "null"] },
        title: TEXT,
        file: TEXT,
        lines: { type: ["array", "null"], items: COUNT },
        body: TEXT,
        confidence: { type: ["number", "null"] },
      },
      ["priority", "title", "file", "lines", "body", "confidence"],
    ),
  ),
  findingsOmitted: COUNT,
  files: {
    anyOf: [
      listOf(
        objectOf({ path: TEXT, kind: { type: "string", enum: ["add", "update", "delete"] }, added: COUNT, removed: COUNT }, [
          "path",
          "kind",
        ]),
      ),
      { type: "string", enum: ["unknown"] },
    ],
  },
  filesFrom: { type: "string", enum: ["git", "folder", "patches"] },
  filesOmitted: COUNT,
  commands: objectOf({ run: COUNT, failed: COUNT, failures: listOf(objectOf({ command: TEXT, exitCode: COUNT })) }, ["run", "failed"]),
  approvals: objectOf(
    { asked: COUNT, allowed: COUNT, denied: COUNT, decisions: listOf(objectOf({ what: TEXT, decision: TEXT, by: TEXT, reason: TEXT })) },
    ["asked", "allowed", "denied"],
  ),
  usage: objectOf({ turn: TOKENS, thread: TOKENS }),
  cost: objectOf({ usd: NUMBER }),
  rateLimits: objectOf({ primary: WINDOW, secondary: WINDOW }),
  cwd: TEXT,
  sandbox: objectOf({ policy: TEXT, enforcedBy: TEXT }),
  model: TEXT,
  ms: COUNT,
  notices: listOf(TEXT),
  /** What a turn that runs waits for. */
  questions: listOf(objectOf({ id: TEXT, what: TEXT })),
  /** Turns in the same folder whose callers do not know them. */
  alsoRunning: listOf(objectOf({ threadId: TEXT, state: TEXT })),
  next: TEXT,
} as const;
