import type { LogFields } from "./log.js";

/** A line as people read it: `codex-mcp-server: message key=value`. What follows a line break is indented, so that no text can pass for a line of ours. */
export function stderrText(message: string, fields: LogFields = {}): string {
  const pairs = Object.entries(fields)
    .filter(([, value]) => value !== undefined)
    .map(([key, value]) => ` ${key}=${shown(value)}`);
  return `codex-mcp-server: ${printable(message)}${pairs.join("")}\n`;
}

function shown(value: LogFields[string]): string {
  return typeof value === "string" && !/^[\w.:/@+*-]+$/.test(value) ? printable(JSON.stringify(value)) : String(value);
}

/** Control characters could move the cursor or change the colours of a terminal. */
function printable(text: string): string {
  const indented = text
    .trimEnd()
    .replaceAll("\r\n", "\n")
    .replaceAll(/\n(?!\s)/g, "\n    ");
  return indented.replaceAll(/(?![\n\t])\p{Cc}|[\u2028\u2029]/gu, "\ufffd");
}
