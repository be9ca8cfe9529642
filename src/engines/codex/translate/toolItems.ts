import type { Fields } from "../../../lib/fields.js";
import type { McpInvocation } from "../../../threads/items.js";
import type { ItemKind } from "./itemKind.js";
import { fieldsOf, listOf, numberOf, saidText, textOf } from "./read.js";

export const mcpToolCall: ItemKind = {
  start: ({ id, item }) => [{ type: "mcpToolStarted", callId: id, invocation: invocationOf(item) }],
  complete: ({ id, item }) => [
    {
      type: "mcpToolEnded",
      callId: id,
      invocation: invocationOf(item),
      durationMs: numberOf(item["durationMs"]) ?? 0,
      result: resultOf(item),
    },
  ],
  unfinished: ({ item }) => ({ ...item, status: "failed", error: { message: "tool call interrupted" } }),
};

/** 0.92.0 told it once, when the picture was looked at. */
export const imageView: ItemKind = {
  start: ({ id, item }) => [{ type: "imageViewed", callId: id, path: textOf(item["path"]) }],
  complete: () => [],
  unfinished: () => undefined,
};

export const contextCompaction: ItemKind = {
  start: () => [],
  complete: () => [{ type: "historyCompacted", message: "", replacement: [] }],
  unfinished: () => undefined,
};

/** For kinds that 0.92.0 had no event for. */
export function notedAs(words: (item: Fields) => string): ItemKind {
  return {
    start: ({ item }) => [{ type: "backgroundNote", message: words(item) }],
    complete: () => [],
    unfinished: () => undefined,
  };
}

function invocationOf(item: Fields): McpInvocation {
  return { server: textOf(item["server"]), tool: textOf(item["tool"]), arguments: item["arguments"] ?? null };
}

/** The app-server adds its own call stack to some errors. */
const BACKTRACE = /\n+Stack backtrace:\n[\s\S]*$/;

function resultOf(item: Fields): { readonly Ok: unknown } | { readonly Err: string } {
  const complaint = saidText(fieldsOf(item["error"])["message"])?.replace(BACKTRACE, "");
  const isFailed = item["status"] === "failed";
  if (complaint !== undefined || (isFailed && item["result"] === null)) return { Err: complaint ?? "tool call failed" };
  const { content, structuredContent } = fieldsOf(item["result"]);
  return {
    Ok: {
      content: listOf(content),
      ...(structuredContent === undefined || structuredContent === null ? {} : { structuredContent }),
      ...(isFailed ? { isError: true } : {}),
    },
  };
}
