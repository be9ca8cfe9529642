import { type Fields, isFields } from "../../../lib/fields.js";
import type { ToolResult } from "../tools/tool.js";
import type { CallResult } from "./results.js";

/** A result as Codex writes it in events: the keys of content blocks are sorted, structured content is as it came. */
export function shownResult(result: CallResult): Fields {
  return { ...result, content: result.content.map(sortedKeys) };
}

/** What the model gets of a result: structured content if there is some, else the blocks, as JSON; pictures follow as pictures. */
export function answerOf(result: CallResult, shorten: (text: string) => string): ToolResult {
  const { structuredContent, content } = result;
  if (structuredContent !== undefined && structuredContent !== null) return { output: shorten(JSON.stringify(structuredContent)) };
  const pictures = content.flatMap(pictureOf);
  const blocks = content.map((block) => sortedKeys(pictureOf(block).length > 0 ? { ...block, data: SHOWN_BELOW } : block));
  const output = shorten(JSON.stringify(blocks));
  return pictures.length === 0 ? { output } : { output, after: [{ type: "message", role: "user", content: pictures }] };
}

/** What the model gets of a failure. */
export function failureAnswer(error: string): ToolResult {
  return { output: `err: ${JSON.stringify(error)}` };
}

const SHOWN_BELOW = "(the picture follows)";

function pictureOf(block: Fields): Fields[] {
  const { type, data, mimeType } = block;
  if (type !== "image" || typeof data !== "string" || typeof mimeType !== "string") return [];
  return [{ type: "input_image", image_url: data.startsWith("data:") ? data : `data:${mimeType};base64,${data}` }];
}

export function sortedKeys(value: Fields): Fields {
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(entries.map(([key, inner]) => [key, isFields(inner) ? sortedKeys(inner) : inner]));
}
