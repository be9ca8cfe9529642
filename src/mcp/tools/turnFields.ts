const TEXT = { type: "string" };
const NUMBER = { type: "number" };
const COUNT = { type: "integer" };
/** Older drafts of JSON Schema forbid an empty `required`. */
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

/** The schema of a turn's result besides thread and answer; `wording/turnReport.ts` fills it in. */
export const TURN_FIELDS = {
  status: { type: "string", enum: ["completed", "failed", "interrupted", "running"] },
  /** Only for reviews. */
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
  commands: objectOf(
    {
      run: COUNT,
      failed: COUNT,
      refused: COUNT,
      stillRunning: COUNT,
      failures: listOf(objectOf({ command: TEXT, exitCode: COUNT, refusal: TEXT })),
    },
    ["run", "failed"],
  ),
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
  /** The open questions of a running turn. */
  questions: listOf(objectOf({ id: TEXT, what: TEXT })),
  /** Turns in the same folder whose callers do not know the thread id. */
  alsoRunning: listOf(objectOf({ threadId: TEXT, state: TEXT, next: TEXT })),
  next: TEXT,
} as const;
