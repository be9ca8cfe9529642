import type { IncomingMessage } from "node:http";
import { HttpProblem } from "./problem.js";

/** The whole body as text. Throws `HttpProblem` if it is too long, or its content type is not JSON. */
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
    // A connection that breaks in the middle is reported as an error too.
    request.on("error", () => reject(new HttpProblem(400, "The body ended early")));
  });
}

function checkContentType({ headers }: IncomingMessage): void {
  if (!isJson(headers["content-type"] ?? "")) throw new HttpProblem(415, "Unsupported Media Type: Content-Type must be application/json");
  const encoding = headers["content-encoding"];
  if (encoding !== undefined && encoding !== "identity") throw new HttpProblem(415, `Unsupported Content-Encoding: ${encoding}`);
}

function isJson(contentType: string): boolean {
  return contentType === "application/json" || /^\s*application\/json\s*(?:;|$)/i.test(contentType);
}

function tooLong(maxBytes: number): HttpProblem {
  return new HttpProblem(
    413,
    `The body is longer than ${maxBytes} bytes, which is this server's limit`,
    // The rest of the body is not read, so the connection cannot be reused.
    { connection: "close" },
  );
}
