import { jsonText, parseJson } from "../../../jsonrpc/exactJson.js";
import { isFields } from "../../../lib/fields.js";

const KEY = "codex-mcpd/event";
/** How the events of a turn begin, which come by the thousand. */
const EVENT_START = '{"jsonrpc":"2.0","method":"codex/event","params":{"_meta":{';

/** The message with its number in `_meta`, for clients that come back without the help of event ids. Errors have no `_meta`. */
export function numbered(text: string, seq: number): string {
  if (text.startsWith(EVENT_START)) return `${EVENT_START}"${KEY}":${seq},${text.slice(EVENT_START.length)}`;
  const message: unknown = parseJson(text);
  if (!isFields(message)) return text;
  for (const holder of ["params", "result"]) {
    const held = message[holder];
    if (isFields(held)) return jsonText({ ...message, [holder]: { ...held, _meta: { ...metaOf(held), [KEY]: seq } } });
  }
  return text;
}

function metaOf({ _meta }: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  return isFields(_meta) ? _meta : {};
}
