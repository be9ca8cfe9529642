import type { IncomingMessage } from "node:http";
import { HTTP_RPC, HttpRefusal } from "./answers.js";

/** The whole body as text. Throws `HttpRefusal` when it is too long, or not JSON by its own account. */
export function readBody(request: IncomingMessage, { maxBytes }: { readonly maxBytes: number }): Promise<string> {
  checkContentType(request);
  if (Number(request.headers["content-length"] ?? 0) > maxBytes) throw tooLong(maxBytes);
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let length = 0;
    request.on("data", (chunk: Buffer) => {
      length += chunk.length;
      if (length <= maxBytes) chunks.push(chunk);
      else {
        chunks.length = 0;
        reject(tooLong(maxBytes));
      }
    });
    request.on("end", () =>
      resolve(chunks.length === 1 && chunks[0] ? chunks[0].toString("utf8") : Buffer.concat(chunks).toString("utf8")),
    );
    // A connection that breaks in the middle is told as an error too.
    request.on("error", () => reject(new HttpRefusal({ status: 400, code: HTTP_RPC.refused, message: "The body ended early" })));
  });
}

function checkContentType({ headers }: IncomingMessage): void {
  if (!isJson(headers["content-type"] ?? ""))
    throw new HttpRefusal({
      status: 415,
      code: HTTP_RPC.refused,
      message: "Unsupported Media Type: Content-Type must be application/json",
    });
  const encoding = headers["content-encoding"];
  if (encoding !== undefined && encoding !== "identity")
    throw new HttpRefusal({ status: 415, code: HTTP_RPC.refused, message: `Unsupported Content-Encoding: ${encoding}` });
}

function isJson(contentType: string): boolean {
  return contentType === "application/json" || /^\s*application\/json\s*(?:;|$)/i.test(contentType);
}

function tooLong(maxBytes: number): HttpRefusal {
  return new HttpRefusal({
    status: 413,
    code: HTTP_RPC.refused,
    message: `The body is longer than ${maxBytes} bytes, which is what this server takes`,
    // What is left of the body is not read; the connection cannot be used again.
    headers: { connection: "close" },
  });
}
