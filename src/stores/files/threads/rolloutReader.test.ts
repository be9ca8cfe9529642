import { mkdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import path from "node:path";
import { expect, it } from "vitest";
import { message, tempHome } from "../../../../test/support/threads/rollouts.js";
import type { RawItem } from "../../../threads/items.js";
import { readRollout } from "./rolloutReader.js";

const ID = "019bff00-0000-7000-8000-000000000001";
const META = {
  id: ID,
  timestamp: "2026-01-27T10:32:31.100Z",
  cwd: "/repo",
  originator: "codex_cli_rs",
  cli_version: "0.92.0",
  source: "cli",
  model_provider: "openai",
  base_instructions: { text: "Be a good agent." },
  git: { commit_hash: "a".repeat(40), branch: "main" },
};
const CONTEXT = {
  cwd: "/repo",
  approval_policy: "on-request",
  sandbox_policy: { type: "workspace-write", network_access: false, exclude_tmpdir_env_var: false, exclude_slash_tmp: false },
  model: "gpt-6.1-sol",
  effort: "medium",
  summary: "auto",
  truncation_policy: { mode: "tokens", limit: 10000 },
};
const ENVIRONMENT = message("user", "<environment_context>\n  <cwd>/repo</cwd>\n</environment_context>");

function line(type: string, payload: unknown): string {
  return `${JSON.stringify({ timestamp: "2026-01-27T10:32:31.123Z", type, payload })}\n`;
}
const meta = line("session_meta", META);
const item = (payload: RawItem) => line("response_item", payload);
const event = (type: string, fields: object = {}) => line("event_msg", { type, ...fields });
const asked = (text: string) => item(message("user", text)) + event("user_message", { message: text, images: [] });
const said = (text: string) => item(message("assistant", text)) + event("agent_message", { message: text });

async function read(...lines: string[]) {
  using home = tempHome();
  const file = path.join(home.path, "rollout.jsonl");
  writeFileSync(file, lines.join(""));
  return await readRollout(file, home.path);
}

async function itemsOf(...lines: string[]): Promise<readonly RawItem[]> {
  return (await read(meta, ...lines)).history.items;
}

it("a thread of the real Codex is read with its items, settings and usage", async () => {
  using home = tempHome();
  const file = path.join(home.path, "rollout.jsonl");
  const reasoning = { type: "reasoning", summary: [{ type: "summary_text", text: "**Look**" }], content: null, encrypted_content: "gAAA" };
  const call = { type: "function_call", name: "shell", arguments: '{"command":["ls"]}', call_id: "call_1" };
  const output = { type: "function_call_output", call_id: "call_1", output: "a.ts\n" };
  const tokens = { input_tokens: 1200, cached_input_tokens: 0, output_tokens: 40, reasoning_output_tokens: 0, total_tokens: 1240 };
  const usage = { total_token_usage: tokens, last_token_usage: tokens, model_context_window: 258400 };
  writeFileSync(
    file,
    [
      meta,
      item(message("developer", "<permissions instructions>")),
      item(ENVIRONMENT),
      item({ type: "ghost_snapshot", ghost_commit: { id: "b".repeat(40), parent: null } }),
      asked("What is here?"),
      line("turn_context", { ...CONTEXT, model: "gpt-5" }),
      event("token_count", { info: null, rate_limits: null }),
      item(reasoning),
      event("agent_reasoning", { text: "**Look**" }),
      item(call),
      event("token_count", { info: usage, rate_limits: null }),
      item(output),
      line("turn_context", { ...CONTEXT, cwd: "/newest", developer_instructions: "be brief" }),
      said("One file."),
      event("token_count", { info: null, rate_limits: null }),
    ].join(""),
  );
  const { ino: inode, size } = statSync(file);
  expect(await readRollout(file, home.path)).toEqual({
    threadId: ID,
    readAs: { inode, size },
    history: {
      items: [
        message("developer", "<permissions instructions>"),
        ENVIRONMENT,
        message("user", "What is here?"),
        reasoning,
        call,
        output,
        message("assistant", "One file."),
      ],
      usage,
      settings: {
        cwd: "/newest",
        providerId: "openai",
        baseInstructions: "Be a good agent.",
        model: "gpt-6.1-sol",
        approvalPolicy: "on-request",
        sandboxPolicy: CONTEXT.sandbox_policy,
        reasoningEffort: "medium",
        developerInstructions: "be brief",
      },
    },
  });
});

it("lines that are blank, broken, unknown or of the wrong shape are skipped", async () => {
  const items = await itemsOf(
    "\n",
    "not json\n",
    "[1]\n",
    "null\n",
    '{"type":"response_item"}\n',
    line("response_item", null),
    line("response_item", "text"),
    line("response_item", { role: "user" }),
    line("response_item", { type: "function_call", name: "shell", arguments: { command: [] }, call_id: "1" }),
    line("response_item", { type: "reasoning", encrypted_content: "x" }),
    line("response_item", { type: "message", role: "user", content: "text" }),
    line("novelty", { type: "message" }),
    event("novelty"),
    line("event_msg", "text"),
    line("turn_context", {}),
    line("session_meta", { ...META, id: "019bff00-0000-7000-8000-000000000009" }),
    asked("Still here?"),
    item({ type: "novel_item", id: "1" }),
  );
  expect(items).toEqual([message("user", "Still here?"), { type: "novel_item", id: "1" }]);
});

it("the first session_meta says which thread it is: a fork's ancestors follow", async () => {
  const { threadId, history } = await read(
    meta,
    line("session_meta", { ...META, id: "019bff00-0000-7000-8000-000000000009", cwd: "/elsewhere" }),
  );
  expect([threadId, history.settings.cwd]).toEqual([ID, "/repo"]);
});

it("a file of an old Codex, with fewer fields and the old sandbox tag, is continued", async () => {
  const { history } = await read(
    line("session_meta", {
      id: ID,
      timestamp: "2025-09-30T10:00:00.000Z",
      cwd: "/old",
      originator: "codex_cli_rs",
      cli_version: "0.42.0",
      instructions: null,
    }),
    item(ENVIRONMENT),
    event("user_message", { message: "<environment_context>", kind: "environment_context" }),
    item(message("user", "hi")),
    event("user_message", { message: "hi", kind: "plain" }),
    line("turn_context", {
      cwd: "/old",
      approval_policy: "never",
      sandbox_policy: { mode: "read-only" },
      model: "gpt-5-codex",
      summary: "auto",
    }),
    item(message("assistant", "hello")),
    event("thread_rolled_back", { num_turns: 1 }),
  );
  expect(history).toStrictEqual({
    items: [ENVIRONMENT],
    usage: null,
    settings: { cwd: "/old", model: "gpt-5-codex", approvalPolicy: "never", sandboxPolicy: { type: "read-only" } },
  });
});

it("a line that was being written when its writer died is ignored", async () => {
  expect(await itemsOf(asked("one"), said("two").slice(0, 90))).toEqual([message("user", "one")]);
});

it("lines longer than one read are complete, and so are characters across the boundary", async () => {
  const long = "é".repeat(1_500_000);
  expect(await itemsOf(asked("short"), said(long), said("end"))).toEqual([
    message("user", "short"),
    message("assistant", long),
    message("assistant", "end"),
  ]);
});

it("a compaction replaces everything before it by the history that it contains", async () => {
  const replacement = [ENVIRONMENT, message("user", "first"), message("user", "summary")];
  const compacted = line("compacted", { message: "summary", replacement_history: [...replacement, { type: "ghost_snapshot" }] });
  const before = [item(ENVIRONMENT), asked("first"), said("1"), compacted, event("context_compacted")];
  expect(await itemsOf(...before, asked("next"))).toEqual([...replacement, message("user", "next")]);
  expect(await itemsOf(...before, asked("next"), event("thread_rolled_back", { num_turns: 1 }))).toEqual(replacement);
  expect(await itemsOf(...before, asked("next"), event("thread_rolled_back", { num_turns: 2 }))).toEqual([ENVIRONMENT]);
});

it("a compaction without a history keeps the context, the user's messages and the summary", async () => {
  expect(
    await itemsOf(
      item(message("developer", "rules")),
      item(ENVIRONMENT),
      asked("first"),
      said("1"),
      asked("second"),
      said("2"),
      line("compacted", { message: "in short" }),
    ),
  ).toEqual([message("developer", "rules"), ENVIRONMENT, message("user", "first"), message("user", "second"), message("user", "in short")]);
});

it("a compaction keeps the latest of very long user messages, up to a limit", async () => {
  const [oldest, older, latest] = ["a", "b", "c"].map((letter) => letter.repeat(50_000));
  expect(
    await itemsOf(
      item(ENVIRONMENT),
      asked(oldest ?? ""),
      asked(older ?? ""),
      asked(latest ?? ""),
      line("compacted", { message: "in short" }),
    ),
  ).toEqual([ENVIRONMENT, message("user", "b".repeat(30_000)), message("user", latest ?? ""), message("user", "in short")]);
});

it("turns that were taken back are gone, context stays", async () => {
  const turns = [item(ENVIRONMENT), asked("1"), said("one"), asked("2"), said("two"), asked("3"), said("three")];
  const rolledBack = (count: number) => event("thread_rolled_back", { num_turns: count });
  expect(await itemsOf(...turns, rolledBack(2))).toEqual([ENVIRONMENT, message("user", "1"), message("assistant", "one")]);
  expect(await itemsOf(...turns, rolledBack(1), rolledBack(1), asked("4"))).toEqual([
    ENVIRONMENT,
    message("user", "1"),
    message("assistant", "one"),
    message("user", "4"),
  ]);
  expect(await itemsOf(...turns, rolledBack(9))).toEqual([ENVIRONMENT]);
});

it("newer versions of Codex record the user's message as an item", async () => {
  const spoken = (text: string) =>
    item(message("user", text)) + event("item_completed", { item: { type: "UserMessage", content: [{ type: "text", text }] } });
  const turns = [item(ENVIRONMENT), spoken("1"), said("one"), spoken("2"), said("two")];
  const first = [ENVIRONMENT, message("user", "1"), message("assistant", "one")];
  expect(await itemsOf(...turns, event("thread_rolled_back", { num_turns: 1 }))).toEqual(first);
});

it("a tool call whose process died before the output is answered with aborted", async () => {
  const call = { type: "function_call", name: "shell", arguments: "{}", call_id: "call_1" };
  expect(await itemsOf(asked("go"), item(call))).toEqual([
    message("user", "go"),
    call,
    { type: "function_call_output", call_id: "call_1", output: "aborted" },
  ]);
});

it.each([
  ["an empty file", "", "empty session file"],
  ["a file without session_meta", asked("hi"), "failed to parse thread ID from rollout file (it has no valid session_meta line)"],
  ["a file of one torn line", meta.slice(0, 60), "failed to parse thread ID from rollout file (it has no valid session_meta line)"],
  [
    "a session_meta without an id",
    line("session_meta", { ...META, id: 7 }),
    "failed to parse thread ID from rollout file (it has no valid session_meta line)",
  ],
])("%s is refused by name, reason and remedy", async (_, content, reason) => {
  using home = tempHome();
  const file = path.join(home.path, "rollout.jsonl");
  writeFileSync(file, content);
  await expect(readRollout(file, home.path)).rejects.toMatchObject({
    code: "storage_failed",
    message: `Cannot read the thread's file ${file}: ${reason}. Restore the file, or start a new thread.`,
  });
});

it("the system's error for an unreadable file is passed on", async () => {
  using home = tempHome();
  const folder = path.join(home.path, "rollout.jsonl");
  mkdirSync(folder);
  await expect(readRollout(folder, home.path)).rejects.toMatchObject({
    code: "storage_failed",
    message: `Cannot read the thread's file ${folder}: illegal operation on a directory.`,
  });
});

it("a fork that only refers to its history is read with that part of the history", async () => {
  using home = tempHome();
  const sessions = path.join(home.path, "sessions/2026/01/27");
  mkdirSync(sessions, { recursive: true });
  const fileOf = (id: string) => path.join(sessions, `rollout-2026-01-27T10-32-31-${id}.jsonl`);
  const past = meta + asked("Begin") + said("begun");
  writeFileSync(fileOf(ID), past + asked("Never heard by the fork"));
  const forked = ID.replace(/1$/, "2");
  const history_base = { thread_id: ID, end_ordinal_exclusive: 5, end_byte_offset: past.length };
  writeFileSync(fileOf(forked), line("session_meta", { ...META, id: forked, cwd: "/fork", history_base }) + asked("Go on"));
  expect(await readRollout(fileOf(forked), home.path)).toMatchObject({
    threadId: forked,
    history: {
      items: [message("user", "Begin"), message("assistant", "begun"), message("user", "Go on")],
      settings: { cwd: "/fork" },
    },
  });
  rmSync(fileOf(ID));
  await expect(readRollout(fileOf(forked), home.path)).rejects.toMatchObject({
    code: "storage_failed",
    message: expect.stringContaining(ID),
  });
});
