import type { IncomingMessage } from "node:http";

/** Whether a header came more than once. Node keeps one of them, and something in front of this server may have looked at another. */
export function isRepeated({ rawHeaders }: IncomingMessage, name: string): boolean {
  let seen = false;
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const header = rawHeaders[at] ?? "";
    if (header.length !== name.length || header.toLowerCase() !== name) continue;
    if (seen) return true;
    seen = true;
  }
  return false;
}

/** The path of the request's target, as it was written. */
export function requestPath({ url = "" }: IncomingMessage): string {
  const query = url.indexOf("?");
  return query < 0 ? url : url.slice(0, query);
}
