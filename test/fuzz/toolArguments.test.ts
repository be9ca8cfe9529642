import { Victim } from "../attack/victim.js";
import type { SeededRandom } from "../support/patch/random.js";
import pins from "../support/toolPins.generated.json" with { type: "json" };
import { checkAnswer, checkHealth, describeFuzz } from "./fuzz.js";
import { bentObject, strangeValue } from "./invent.js";

type Json = Readonly<Record<string, unknown>>;

const CHECK_EVERY = 25;
const AT_ONCE = 4;
const THREAD = "019a0000-0000-7000-8000-000000000000";

/** Calls that end at once. */
const CALLS: readonly (readonly [string, Json])[] = [
  [
    "codex",
    { prompt: "!say x", cwd: ".", sandbox: "read-only", "approval-policy": "never", model: "m", config: { model_reasoning_effort: "low" } },
  ],
  ["codex", { prompt: "!say x", "base-instructions": "b", "developer-instructions": "d", "compact-prompt": "c", profile: "p" }],
  [
    "codex",
    {
      prompt: "!say x",
      config: {
        "sandbox_workspace_write.writable_roots": ["a"],
        features: { unified_exec: true },
        shell_environment_policy: { set: { A: "b" } },
      },
    },
  ],
  [
    "codex",
    {
      prompt: "!say x",
      config: {
        mcp_servers: { x: { command: "true", args: ["y"], env: { a: "b" } } },
        model_providers: { y: { base_url: "http://127.0.0.1:9" } },
      },
    },
  ],
  ["codex-reply", { threadId: THREAD, prompt: "!say x" }],
  ["codex-reply", { conversationId: THREAD, prompt: "!say x" }],
  ["codex-review", { target: "custom", instructions: "!say x", cwd: "." }],
  ["codex-query", { prompt: "!say x", cwd: "." }],
  ["codex-answer", { id: THREAD, decision: "deny", reason: "no" }],
  ["codex-steer", { threadId: THREAD, prompt: "x" }],
  ["codex-manage", { action: "compact", threadId: THREAD }],
  ["codex-threads", { action: "list", limit: 5, search: "x", cursor: "y", archived: true, cwd: "/" }],
  ["codex-manage", { action: "fork", threadId: THREAD }],
  ["codex-exec", { command: ["true"], cwd: ".", sandbox: "read-only", timeoutMs: 2_000 }],
  ["codex-account", { action: "state" }],
  ["codex-models", {}],
  ["codex-config", { cwd: "." }],
  // Every tool with the example of its own file, so a new tool is included too.
  ...Object.entries(pins.examples),
];

/** Directives that make the model call a tool with unexpected arguments. */
const MODEL_TOOLS = [
  "shell",
  "update_plan",
  "view_image",
  "apply_patch",
  "exec_command",
  "write_stdin",
  "list_mcp_resources",
  "no_such_tool",
] as const;

function inventCall(random: SeededRandom): readonly [string, Json] {
  if (random.chance(0.3)) {
    const args = random.chance(0.8)
      ? strangeValue(random)
      : { command: strangeValue(random), path: strangeValue(random), timeout_ms: strangeValue(random) };
    return ["codex", { prompt: `!call ${random.pick(MODEL_TOOLS)} ${JSON.stringify(args)}\n!say x`, "approval-policy": "never" }];
  }
  const [tool, args] = random.pick(CALLS);
  return [tool, random.chance(0.2) ? bentObject(random, bentObject(random, args)) : bentObject(random, args)];
}

describeFuzz("arguments of tools", {
  budget: { quick: 120, all: 2_000 },
  play: async (ground, rounds) => {
    await using victim = await Victim.onStdio(ground, { engine: "scripted" });
    let waiting: Promise<void>[] = [];
    let number = 0;
    for (const random of rounds) {
      const [tool, args] = inventCall(random);
      waiting.push(victim.call(tool, args).then((answer) => checkAnswer(answer, [tool, args])));
      if (waiting.length < AT_ONCE) continue;
      await Promise.all(waiting);
      waiting = [];
      if (++number % CHECK_EVERY === 0) await checkHealth(victim);
    }
    await Promise.all(waiting);
    await checkHealth(victim);
  },
});
