import { readdirSync } from "node:fs";
import path from "node:path";
import { isRecord, valueAt } from "../scenarios/scenario.js";
import type { Stage } from "../stage.js";
import { linesIn } from "./rollouts.js";

/** The file of this thread, or of the only one there is. */
export function rolloutFile({ codexHome }: Pick<Stage, "codexHome">, threadId = ""): string {
  const names = readdirSync(path.join(codexHome, "sessions"), { recursive: true, encoding: "utf8" });
  const name = names.find((entry) => entry.endsWith(`${threadId}.jsonl`));
  if (name === undefined) throw new Error(`No rollout of thread ${threadId}.`);
  return path.join(codexHome, "sessions", name);
}

/** The contents of a thread's rollout: texts of messages and types of events. Fails if a line is incomplete. */
export function storyOf(stage: Pick<Stage, "codexHome">, threadId?: string): string[] {
  return linesIn(rolloutFile(stage, threadId)).flatMap(({ type, payload }) => {
    if (type === "event_msg") return [String(valueAt(payload, "type"))];
    if (type !== "response_item" || !isRecord(payload) || payload["type"] !== "message") return [];
    return payload["role"] === "developer" ? [] : [`${String(payload["role"])}: ${String(valueAt(payload, "content.0.text"))}`];
  });
}

/** The messages of a thread, without the context that the server adds. */
export function spokenOn(stage: Pick<Stage, "codexHome">, threadId: string): string[] {
  return storyOf(stage, threadId).filter((entry) => /^(user|assistant): (?!<)/.test(entry));
}
