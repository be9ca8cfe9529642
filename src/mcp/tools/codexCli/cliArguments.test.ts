import { expect, it } from "vitest";
import { z } from "zod";
import { CliArgumentsInvalid, parseCliArguments } from "./cliArguments.js";
import { codexCliTool } from "./codex.js";
import { helpCliTool } from "./help.js";
import { websearchCliTool } from "./websearch.js";

// The original wrapper validated with zod 4 and passed its issues on to callers. Ours must be identical.
const CODEX = z.object({
  prompt: z.string(),
  sessionId: z
    .string()
    .max(256, "Session ID must be 256 characters or fewer")
    .regex(/^[a-zA-Z0-9_-]+$/, "Session ID can only contain letters, numbers, hyphens, and underscores")
    .optional(),
  resetSession: z.boolean().optional(),
  model: z.string().optional(),
  reasoningEffort: z.enum(["none", "minimal", "low", "medium", "high", "xhigh"]).optional(),
  sandbox: z.enum(["read-only", "workspace-write", "danger-full-access"]).optional(),
  fullAuto: z.boolean().optional(),
  workingDirectory: z.string().optional(),
  callbackUri: z.string().optional(),
});
const WEBSEARCH = z.object({
  query: z.string().min(1, "Search query cannot be empty"),
  numResults: z.number().int().min(1).max(50).optional(),
  searchDepth: z.enum(["basic", "full"]).optional(),
});

const VALUES: readonly unknown[] = ["", "a", "é", "../x", "a".repeat(256), "/".repeat(257), 0, 1, 51, 1.5, 1_000, true, {}, ["a"]];

function complaintOf(tool: typeof codexCliTool, args: unknown): string | undefined {
  try {
    parseCliArguments(args, tool);
    return undefined;
  } catch (error) {
    if (error instanceof CliArgumentsInvalid) return error.message;
    throw error;
  }
}

function expectedFor(name: string, schema: z.ZodType, args: unknown): string | undefined {
  const { error } = schema.safeParse(args);
  return error && `Validation failed for tool "${name}": ${JSON.stringify(error.issues, null, 2)}`;
}

it.for(Object.keys(CODEX.shape))("codex: every invalid `%s` has zod's error text", (name) => {
  for (const value of VALUES) {
    const args = { prompt: "x", [name]: value };
    expect(complaintOf(codexCliTool, args), JSON.stringify(args)).toBe(expectedFor("codex", CODEX, args));
  }
});

it.for(Object.keys(WEBSEARCH.shape))("websearch: every invalid `%s` has zod's error text", (name) => {
  for (const value of VALUES) {
    const args = { query: "x", [name]: value };
    expect(complaintOf(websearchCliTool, args), JSON.stringify(args)).toBe(expectedFor("websearch", WEBSEARCH, args));
  }
});

it("all errors are reported together, in the order of the schema", () => {
  const args = { callbackUri: 1, sessionId: "/".repeat(257), fullAuto: "yes" };
  expect(complaintOf(codexCliTool, args)).toBe(expectedFor("codex", CODEX, args));
});

it.for([undefined, null, "x", 5, [1]])("%j instead of arguments is refused, even by tools without arguments", (args) => {
  expect(complaintOf(helpCliTool, args)).toBe(expectedFor("help", z.object({}), args));
});

it("unknown arguments are ignored, and null is absent where an argument may be absent", () => {
  expect(parseCliArguments({ prompt: "x", model: null, nonsense: 1, __proto__: { a: 1 } }, codexCliTool)).toEqual({ prompt: "x" });
  expect(complaintOf(codexCliTool, { prompt: null })).toContain("expected string, received null");
});
