import type { IncomingHttpHeaders, IncomingMessage } from "node:http";
import { type Fields, isFields } from "../../../lib/fields.js";
import { headerMismatch, META } from "../../stateless/request.js";
import type { ToolDeclaration } from "../../tools/tool.js";

/** The parameter that the header `Mcp-Name` repeats, by method. */
const NAMED_BY: Readonly<Record<string, string>> = {
  "tools/call": "name",
  "prompts/get": "name",
  "resources/read": "uri",
  "tasks/get": "taskId",
  "tasks/update": "taskId",
  "tasks/cancel": "taskId",
};

/** For each tool, the arguments that headers repeat, and the headers. */
export type ArgumentHeaders = ReadonlyMap<string, readonly (readonly [argument: string, header: string])[]>;

/** Reads `x-mcp-header` in the tools' schemas. */
export function argumentHeadersOf(tools: readonly ToolDeclaration[]): ArgumentHeaders {
  return new Map(tools.map(({ name, inputSchema }) => [name, headersIn(inputSchema)]));
}

/** Headers let proxies route a request without parsing its body, so they must match the body. Throws `-32020` if they do not. */
export function checkStatelessHeaders(
  { headers }: IncomingMessage,
  { method, params }: { readonly method: string; readonly params: Fields },
  argumentHeaders: ArgumentHeaders,
): void {
  mustRepeat(headers, "mcp-protocol-version", isFields(params["_meta"]) ? params["_meta"][META.protocolVersion] : undefined);
  mustRepeat(headers, "mcp-method", method);
  const named = Object.hasOwn(NAMED_BY, method) ? NAMED_BY[method] : undefined;
  if (named !== undefined) mustRepeat(headers, "mcp-name", params[named]);
  if (method !== "tools/call") return;
  const args = isFields(params["arguments"]) ? params["arguments"] : {};
  for (const [argument, header] of argumentHeaders.get(String(params["name"])) ?? []) mustRepeat(headers, header, args[argument]);
}

function headersIn(inputSchema: unknown): [argument: string, header: string][] {
  const properties = isFields(inputSchema) && isFields(inputSchema["properties"]) ? inputSchema["properties"] : {};
  return Object.entries(properties).flatMap(([argument, schema]) => {
    const header = isFields(schema) ? schema["x-mcp-header"] : undefined;
    return typeof header === "string" ? [[argument, `mcp-param-${header.toLowerCase()}`] as [string, string]] : [];
  });
}

/** Only a value that the body has, and that is a string, number or boolean, must be repeated. Missing values are checked elsewhere. */
function mustRepeat(headers: IncomingHttpHeaders, header: string, said: unknown): void {
  const value = headers[header];
  const word = typeof said === "number" || typeof said === "boolean" ? String(said) : said;
  if (value === undefined && typeof word !== "string") return;
  if (value === undefined) throw headerMismatch(`The header ${header} is missing`);
  if (typeof value !== "string" || decoded(value.trim()) !== word) throw headerMismatch(`The header ${header} does not match the body`);
}

/** Values beyond plain ASCII are sent as `=?base64?…?=`. Invalid base64 gives undefined. */
function decoded(value: string): string | undefined {
  const [, encoded] = /^=\?base64\?(.*)\?=$/.exec(value) ?? [];
  if (encoded === undefined) return value;
  return encoded.length % 4 === 0 && /^[A-Za-z0-9+/]*={0,2}$/.test(encoded) ? Buffer.from(encoded, "base64").toString("utf8") : undefined;
}
