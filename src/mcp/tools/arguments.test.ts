import { describe, expect, it } from "vitest";
import { MemorySession } from "../../../test/support/memory/memorySession.js";
import { valueAt } from "../../../test/support/scenarios/scenario.js";
import { InvalidArguments } from "../../agent/errors.js";
import { codexTool } from "./codex.js";
import { codexOriginalTool } from "./codexOriginal.js";
import { codexReplyOriginalTool } from "./codexReplyOriginal.js";
import { execTool } from "./exec.js";
import { INJECTED_ARGUMENTS, remarkOnInjected } from "./injectedArguments.js";
import { modelsTool } from "./models.js";
import { toolsOf } from "./sets.js";
import { threadsTool } from "./threads.js";
import { type InputSchema, parseArguments } from "./tool.js";

const CODEX = { ...codexOriginalTool, wording: { structName: "CodexToolCallParam", absent: "no arguments" } };
const REPLY = { ...codexReplyOriginalTool, wording: { structName: "CodexToolCallReplyParam", firstNeeded: 2, absent: "no arguments" } };

const PREFIX = "Failed to parse configuration for Codex tool: ";
const POLICIES = "`untrusted`, `on-failure`, `on-request`, `never`";
const SANDBOXES = "`read-only`, `workspace-write`, `danger-full-access`";
const LONG = "x".repeat(100_000);

function complaintOf(parse: () => unknown): string {
  try {
    parse();
    return "nothing";
  } catch (error) {
    if (error instanceof InvalidArguments) return error.message;
    throw error;
  }
}

function complaintAbout(args: unknown): string {
  return complaintOf(() => parseArguments(args, CODEX));
}

describe("good arguments", () => {
  it("are all accepted unchecked", () => {
    const all = {
      prompt: "go",
      model: "mock",
      profile: "fast",
      cwd: "/project",
      "approval-policy": "never",
      sandbox: "read-only",
      config: { "a.b": [1, { c: null }] },
      "base-instructions": "base",
      "developer-instructions": "developer",
      "compact-prompt": "compact",
    };
    expect(parseArguments(all, CODEX)).toEqual(all);
  });

  it("may be an empty prompt", () => {
    expect(parseArguments({ prompt: "" }, CODEX)).toEqual({ prompt: "" });
  });

  it("that are optional and null are like absent", () => {
    const nulls = Object.fromEntries(Object.keys(CODEX.inputSchema.properties).map((name) => [name, null]));
    expect(parseArguments({ ...nulls, prompt: "go" }, CODEX)).toEqual({ prompt: "go" });
    expect(parseArguments({ prompt: "go", threadId: null, conversationId: null }, REPLY)).toEqual({ prompt: "go" });
  });

  it("that are choices may come as an object with one key, as serde reads them", () => {
    const sent = { prompt: "go", sandbox: { "read-only": null }, "approval-policy": { never: null }, config: { model: null } };
    expect(parseArguments(sent, CODEX)).toEqual({
      prompt: "go",
      sandbox: "read-only",
      "approval-policy": "never",
      config: { model: null },
    });
  });

  it("that are unknown are ignored by the tools of Codex 0.92.0", () => {
    const sent: unknown = JSON.parse('{"prompt":"go","nonsense":1,"__proto__":{"model":5}}');
    expect(parseArguments(sent, CODEX)).toEqual({ prompt: "go" });
  });
});

describe("bad arguments are refused in Codex's words", () => {
  it.for([[undefined], [null]] as const)("%j", ([args]) => {
    expect(complaintAbout(args)).toBe("no arguments");
  });

  it.for([
    [{}, "missing field `prompt`"],
    [{ model: "mock" }, "missing field `prompt`"],
    [{ prompt: 5 }, "invalid type: integer `5`, expected a string"],
    [{ prompt: 1.5 }, "invalid type: floating point `1.5`, expected a string"],
    [{ prompt: null }, "invalid type: null, expected a string"],
    [{ prompt: true }, "invalid type: boolean `true`, expected a string"],
    [{ prompt: ["go"] }, "invalid type: sequence, expected a string"],
    [{ prompt: { text: "go" } }, "invalid type: map, expected a string"],
    [{ prompt: "go", cwd: 5 }, "invalid type: integer `5`, expected a string"],
    [{ prompt: "go", model: 1 }, "invalid type: integer `1`, expected a string"],
    [{ prompt: "go", profile: false }, "invalid type: boolean `false`, expected a string"],
    [{ prompt: "go", "base-instructions": 5 }, "invalid type: integer `5`, expected a string"],
    [{ prompt: "go", "developer-instructions": 5 }, "invalid type: integer `5`, expected a string"],
    [{ prompt: "go", "compact-prompt": 5 }, "invalid type: integer `5`, expected a string"],
    [{ prompt: "go", config: "a" }, 'invalid type: string "a", expected a map'],
    [{ prompt: "go", config: [1] }, "invalid type: sequence, expected a map"],
    [{ prompt: "go", config: 5 }, "invalid type: integer `5`, expected a map"],
    ["x", 'invalid type: string "x", expected struct CodexToolCallParam'],
    [5, "invalid type: integer `5`, expected struct CodexToolCallParam"],
    [true, "invalid type: boolean `true`, expected struct CodexToolCallParam"],
    [[], "invalid length 0, expected struct CodexToolCallParam with 10 elements"],
    [{ prompt: "go", sandbox: "full" }, `unknown variant \`full\`, expected one of ${SANDBOXES}`],
    [{ prompt: "go", "approval-policy": "always" }, `unknown variant \`always\`, expected one of ${POLICIES}`],
    [{ prompt: "go", "approval-policy": {} }, "invalid value: map, expected map with a single key"],
    [{ prompt: "go", "approval-policy": { never: 1, untrusted: 1 } }, "invalid value: map, expected map with a single key"],
    [{ prompt: "go", "approval-policy": { never: 1 } }, "invalid type: integer `1`, expected unit"],
    [{ prompt: "go", sandbox: { full: 1 } }, `unknown variant \`full\`, expected one of ${SANDBOXES}`],
  ] as const)("%j: %s", ([args, complaint]) => {
    expect(complaintAbout(args)).toBe(PREFIX + complaint);
  });

  it.for([
    [{ threadId: "x" }, "missing field `prompt`"],
    [{ prompt: "go", threadId: 5 }, "invalid type: integer `5`, expected a string"],
    [{ prompt: "go", conversationId: 5 }, "invalid type: integer `5`, expected a string"],
    ["x", 'invalid type: string "x", expected struct CodexToolCallReplyParam'],
    [[], "invalid length 2, expected struct CodexToolCallReplyParam with 3 elements"],
  ] as const)("of a reply, %j: %s", ([args, complaint]) => {
    expect(complaintOf(() => parseArguments(args, REPLY))).toBe(PREFIX + complaint);
  });
});

describe("arguments of our own tools", () => {
  it("may be lists, whole numbers and booleans", () => {
    const exec = { command: ["ls", "-l"], timeoutMs: 3_600_000 };
    const threads = { action: "list", limit: 1, archived: false };
    expect([parseArguments(exec, execTool), parseArguments(threads, threadsTool)]).toEqual([exec, threads]);
  });

  it.for([
    [undefined, "missing field `command`"],
    [["ls"], "invalid type: sequence, expected a map of arguments"],
    [{ command: "ls" }, '`command`: invalid type: string "ls", expected a sequence of strings'],
    [{ command: [1] }, "`command`: invalid type: sequence, expected a sequence of strings"],
    [{ command: [], timeoutMs: "1" }, '`timeoutMs`: invalid type: string "1", expected a whole number'],
    [{ command: [], timeoutMs: 0.5 }, "`timeoutMs`: invalid type: floating point `0.5`, expected a whole number"],
    [{ command: [], timeoutMs: 0 }, "`timeoutMs`: invalid value: integer `0`, expected a whole number from 1 to 3600000"],
    [{ command: [], timeoutMs: 3_600_001 }, "`timeoutMs`: invalid value: integer `3600001`, expected a whole number from 1 to 3600000"],
  ] as const)("%j is refused with the tool and the argument: %s", ([args, complaint]) => {
    expect(complaintOf(() => parseArguments(args, execTool))).toBe(`codex-exec: ${complaint}`);
  });

  it("a boolean is neither a string nor a number", () => {
    const complaints = ["yes", 1].map((archived) => complaintOf(() => parseArguments({ action: "list", archived }, threadsTool)));
    expect(complaints).toEqual([
      'codex-threads: `archived`: invalid type: string "yes", expected a boolean',
      "codex-threads: `archived`: invalid type: integer `1`, expected a boolean",
    ]);
  });
});

describe("a wrong argument of the current `codex` is refused with its name, its value and the expected type", () => {
  it.for([
    [{ prompt: 5 }, "`prompt`: invalid type: integer `5`, expected a string"],
    [{ prompt: "go", cwd: ["/x"] }, "`cwd`: invalid type: sequence, expected a string"],
    [{ prompt: "go", config: "a" }, '`config`: invalid type: string "a", expected a map'],
    [{ prompt: "go", sandbox: true }, `\`sandbox\`: invalid type: boolean \`true\`, expected one of ${SANDBOXES}`],
    [{ prompt: "go", sandbox: "full" }, `\`sandbox\`: unknown variant \`full\`, expected one of ${SANDBOXES}`],
    [{ prompt: "go", wait: "50" }, '`wait`: invalid type: string "50", expected a whole number'],
    [{ prompt: "go", wait: -1 }, "`wait`: invalid value: integer `-1`, expected a whole number from 0 to 31536000"],
    [[], "invalid type: sequence, expected a map of arguments"],
    ["x", 'invalid type: string "x", expected a map of arguments'],
  ] as const)("%j: %s", ([args, complaint]) => {
    expect(complaintOf(() => parseArguments(args, codexTool))).toBe(PREFIX + complaint);
  });

  it.for([{ config: LONG }, { sandbox: LONG }, { [LONG]: 1 }, LONG])("and a long one is not repeated whole", (args) => {
    const complaint = complaintOf(() => parseArguments(args, codexTool));
    expect([complaint.length < 500, complaint.includes("…")]).toEqual([true, true]);
  });
});

describe("of several faults", () => {
  it("the first in the order they were sent is named", () => {
    expect([complaintAbout({ prompt: "go", sandbox: "full", cwd: 5 }), complaintAbout({ cwd: 5, sandbox: "full", prompt: "go" })]).toEqual([
      `${PREFIX}unknown variant \`full\`, expected one of ${SANDBOXES}`,
      `${PREFIX}invalid type: integer \`5\`, expected a string`,
    ]);
  });

  it("a missing argument is named last", () => {
    expect(complaintAbout({ config: "a" })).toBe(`${PREFIX}invalid type: string "a", expected a map`);
  });
});

describe("arguments that a tool does not know", () => {
  const refused = (args: unknown) => complaintOf(() => parseArguments(args, codexTool));

  it("are refused by name, with the known ones", () => {
    const known = Object.keys(codexTool.inputSchema.properties).map((name) => `\`${name}\``);
    expect(refused({ prompt: "go", pictures: ["a.png"] })).toBe(`${PREFIX}unknown field \`pictures\`, expected one of ${known.join(", ")}`);
    expect(complaintOf(() => parseArguments({ path: "." }, modelsTool))).toBe("codex-models: unknown field `path`, there are no fields");
  });

  it("are refused under any name", () => {
    const sent: unknown = JSON.parse('{"prompt":"go","__proto__":{"model":5}}');
    expect(refused(sent)).toContain("unknown field `__proto__`");
    expect(refused({ prompt: "go", constructor: 1 })).toContain("unknown field `constructor`");
  });

  it("are excluded by the schema, except in codex-original", () => {
    expect([codexTool, codexOriginalTool].map(({ inputSchema }) => inputSchema.additionalProperties)).toEqual([false, undefined]);
  });

  it.for(INJECTED_ARGUMENTS.map(({ name, client, source }) => [name, client, source] as const))(
    "except `%s`, which %s adds (%s): it is ignored and reported",
    ([name]) => {
      const sent = { prompt: "go", [name]: { any: "thing" } };
      expect(parseArguments(sent, codexTool)).toEqual({ prompt: "go" });
      expect(remarkOnInjected(sent, codexTool.inputSchema.properties)).toEqual([
        `Ignored, since clients add it to every call: \`${name}\`.`,
      ]);
    },
  );

  it("are checked like any other once the tool knows them", () => {
    expect(remarkOnInjected({ tool: 1, toolCallId: 2 }, { tool: {} })).toEqual([
      "Ignored, since clients add it to every call: `toolCallId`.",
    ]);
    expect(remarkOnInjected({ prompt: "go" }, {})).toEqual([]);
  });
});

describe("null", () => {
  it("counts as absent, for known and unknown arguments", () => {
    expect(parseArguments({ prompt: "go", cwd: null, sandbox: null, nonsense: null }, codexTool)).toEqual({ prompt: "go" });
    expect(parseArguments({ command: ["ls"], cwd: null }, execTool)).toEqual({ command: ["ls"] });
  });

  it("for a required argument counts as missing", () => {
    expect(complaintOf(() => parseArguments({ prompt: null }, codexTool))).toBe(`${PREFIX}missing field \`prompt\``);
  });
});

describe("an empty text", () => {
  it.for(toolsOf(["codex", "extras", "openoxide"]))("for an optional argument of $declaration.name counts as absent", ({ declaration }) => {
    const tool = { ...declaration, inputSchema: declaration.inputSchema as InputSchema };
    const { properties, required = [] } = tool.inputSchema;
    const empty = Object.keys(properties).map((name) => [name, required.includes(name) ? "x" : ""]);
    const optional = Object.fromEntries(empty.filter(([, value]) => value === ""));
    const complaint = (args: object) => complaintOf(() => parseArguments(args, tool));
    expect(complaint(optional)).toBe(complaint({}));
  });

  it("for a required argument, or under an unknown name, is a value", () => {
    expect(parseArguments({ prompt: "", model: "", sandbox: "", config: "", wait: "" }, codexTool)).toEqual({ prompt: "" });
    expect(complaintOf(() => parseArguments({ prompt: "go", nonsense: "" }, codexTool))).toContain("unknown field `nonsense`");
  });

  it("is a value for the tools of Codex 0.92.0, as recorded", () => {
    expect(parseArguments({ prompt: "go", model: "" }, CODEX)).toEqual({ prompt: "go", model: "" });
  });
});

describe("an argument of another tool", () => {
  it.for([
    ["codex", { workingDirectory: "/x" }, "Its name here is `cwd`."],
    ["codex", { fullAuto: true }, "Use `sandbox: workspace-write` in its place."],
    ["codex", { reasoningEffort: "high" }, "Use `config: { model_reasoning_effort: … }` in its place."],
    ["codex", { resetSession: true }, "Every call of this tool begins a new thread; leave it out."],
    ["codex", { callbackUri: "cb:1" }, "Tools with `callbackUri` are in the set codex-cli (--tools codex-cli)."],
    ["codex", { approval_policy: "never" }, "Its name here is `approval-policy`."],
    ["codex", { instructions: "x" }, "Its name here is `developer-instructions`."],
    ["codex-reply", { thread_id: "x" }, "Its name here is `threadId`."],
    ["codex", { threadId: "x" }, "This tool begins a thread; `codex-reply` continues one."],
    ["codex-query", { conversationId: "x" }, "This tool begins a thread; `codex-reply` continues one."],
    ["codex-review", { threadId: "x" }, "This tool begins a thread; `codex-reply` continues one."],
    ["codex-query", { query: "x" }, "Its name here is `prompt`."],
    ["codex-review", { uncommitted: true }, "Use `target: uncommitted` in its place."],
    ["codex-review", { base: "main" }, "Its name here is `branch`."],
    ["codex-review", { prompt: "look at the tests" }, "Use `instructions` to say what the reviewer should look at."],
    ["codex", { images: ["a.png"] }, "Name the files in the prompt: the agent can look at images."],
    ["codex", { timeout: 600 }, "Use `wait` (seconds) in its place."],
    ["codex-reply", { sandbox: "workspace-write" }, "A thread keeps its settings; `codex` begins one with others."],
    ["codex-reply", { cwd: "/x" }, "A thread keeps its settings; `codex` begins one with others."],
    ["codex-query", { sandbox: "workspace-write" }, "This tool only reads, and never asks; `codex` can change files."],
    ["codex-review", { "approval-policy": "never" }, "This tool only reads, and never asks; `codex` can change files."],
    ["openoxide", { workingDirectory: "/x" }, "Its name here is `cwd`."],
    ["openoxide-reply", { threadId: "x" }, "Its name here is `thread_id`."],
  ] as const)("%s with %j names what to use instead", async ([name, args, advice]) => {
    const [tool] = await Promise.all(
      toolsOf(["codex", "openoxide"])
        .filter(({ declaration }) => declaration.name === name)
        .map(({ load }) => load()),
    );
    if (!tool) throw new Error(`no tool ${name}`);
    const complaint = complaintOf(() => parseArguments(args, tool));
    expect(complaint).toContain(`unknown field \`${Object.keys(args)[0]}\`, expected `);
    expect(complaint.endsWith(advice), complaint).toBe(true);
  });

  it("`sessionId`, which clients add by themselves, is ignored and reported", () => {
    expect(parseArguments({ prompt: "x", sessionId: "y" }, codexTool)).toEqual({ prompt: "x" });
    expect(remarkOnInjected({ prompt: "x", sessionId: "y" }, codexTool.inputSchema.properties)).toEqual([
      "Ignored, since clients add it to every call: `sessionId`.",
    ]);
  });

  it("which is unknown is refused as usual", () => {
    expect(complaintOf(() => parseArguments({ prompt: "x", nonsense: 1 }, codexTool))).toMatch(/`wait`$/);
  });
});

describe("a missing thread id", () => {
  it.for([
    ["codex-wait", {}],
    ["codex-steer", { prompt: "x" }],
    ["codex-manage", { action: "stop" }],
  ] as const)("is reported by %s, with where to find ids", async ([tool, args]) => {
    await using client = new MemorySession();
    const result = await client.call(tool, args);
    expect([valueAt(result, "isError"), valueAt(result, "content.0.text")]).toEqual([
      true,
      `${tool}: missing field \`threadId\`. The threadId is in the result of the call that began the thread; \`codex-threads\` lists the threads that you can continue.`,
    ]);
  });
});

describe("an invalid thread id", () => {
  it.for([
    ["codex-wait", {}],
    ["codex-reply", { prompt: "x" }],
    ["codex-steer", { prompt: "x" }],
    ["codex-manage", { action: "stop" }],
    ["codex-threads", { action: "read" }],
  ] as const)("is refused by %s, with where to find ids", async ([tool, args]) => {
    await using client = new MemorySession();
    const result = await client.call(tool, { ...args, threadId: "abc" });
    expect([valueAt(result, "isError"), valueAt(result, "content.0.text")]).toEqual([
      true,
      "Failed to parse thread_id: invalid length: expected length 32 for simple format, found 3. The threadId is in the result of the call that began the thread; `codex-threads` lists the threads that you can continue.",
    ]);
  });
});
