import { mkdirSync, utimesSync, writeFileSync } from "node:fs";
import path from "node:path";
import { newThreadId, type ThreadId } from "../../../src/lib/ids.js";
import { message } from "./rollouts.js";

export interface KeptThread {
  readonly id?: ThreadId;
  /** YYYY-MM-DDThh-mm-ss, as in the file's name. */
  readonly stamp?: string;
  readonly words?: string;
  readonly cwd?: string;
  /** Further fields of its session_meta. */
  readonly meta?: object;
  readonly archived?: boolean;
  /** Instead of the user's first message. */
  readonly lines?: readonly string[];
}

export const USED_AT = new Date("2026-02-01T00:00:00.000Z");

/** Writes the rollout of a thread as Codex 0.92.0 does. Returns its id. */
export function keepThread(codexHome: string, thread: KeptThread = {}): ThreadId {
  const { id = newThreadId(), stamp = "2026-01-27T10-32-31", words = "Count to 5", archived = false } = thread;
  const folders = archived ? ["archived_sessions"] : ["sessions", ...stamp.slice(0, 10).split("-")];
  const file = path.join(codexHome, ...folders, `rollout-${stamp}-${id}.jsonl`);
  mkdirSync(path.dirname(file), { recursive: true });
  writeFileSync(file, [metaLine(id, thread), ...(thread.lines ?? asked(words))].join(""));
  utimesSync(file, USED_AT, USED_AT);
  return id;
}

export function line(type: string, payload: unknown): string {
  return `${JSON.stringify({ timestamp: "2026-01-27T10:32:31.123Z", type, payload })}\n`;
}

export function asked(words: string): string[] {
  return [
    line("response_item", message("user", "<environment_context>\n  <cwd>/repo</cwd>\n</environment_context>")),
    line("response_item", message("user", words)),
    line("event_msg", { type: "user_message", message: words, images: [] }),
  ];
}

function metaLine(id: ThreadId, { cwd = "/repo", meta = {} }: KeptThread): string {
  const origin = { originator: "codex_cli_rs", cli_version: "0.92.0", source: "cli", model_provider: "openai" };
  return line("session_meta", { id, timestamp: "2026-01-27T10:32:31.100Z", cwd, ...origin, ...meta });
}
