import type { IncomingMessage } from "node:http";
import { type Release, Shares } from "../lib/shares.js";
import { HttpProblem } from "./problem.js";

const MIB = 1024 * 1024;
/** Bodies of this size are bounded by the number of open requests alone. Nearly all are shorter. */
const UNCOUNTED_BYTES = 64 * 1024;
/** The memory for all bodies that are being read, if the largest body allows it. */
const USUAL_BYTES = 256 * MIB;
/** In any case there is room for this many of the largest, half of them of one principal. */
const LARGEST_AT_ONCE = 8;

/** The bodies that are being read: a client may send them slowly. The memory that they take is limited, and shared by the principals. */
export class RequestBodies {
  readonly #maxBytes: number;
  /** Each is a mebibyte. */
  readonly #places: Shares;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
    const limit = Math.ceil(Math.max(USUAL_BYTES, LARGEST_AT_ONCE * maxBytes) / MIB);
    this.#places = new Shares({ limit, perPrincipal: Math.ceil(limit / 2) });
  }

  /** The whole body as text. Throws `HttpProblem` if it is too long, if there is no memory for it, or if its content type is not JSON. */
  read(request: IncomingMessage, principal: string, { maxBytes = this.#maxBytes } = {}): Promise<string> {
    checkContentType(request);
    if (Number(request.headers["content-length"] ?? 0) > maxBytes) throw tooLong(maxBytes);
    return new Promise((resolve, reject) => {
      const chunks: Buffer[] = [];
      const taken: Release[] = [];
      let length = 0;
      const release = () => {
        for (const leave of taken.splice(0)) leave();
      };
      const refuse = (problem: HttpProblem) => {
        length = Number.POSITIVE_INFINITY;
        chunks.length = 0;
        release();
        reject(problem);
      };
      request.on("data", (chunk: Buffer) => {
        length += chunk.length;
        if (length === Number.POSITIVE_INFINITY) return;
        if (length > maxBytes) return refuse(tooLong(maxBytes));
        while (length - UNCOUNTED_BYTES > taken.length * MIB) {
          const place = this.#places.take(principal);
          if (!place) return refuse(tooMuch());
          taken.push(place);
        }
        chunks.push(chunk);
      });
      request.on("end", () => {
        release();
        resolve(chunks.length === 1 && chunks[0] ? chunks[0].toString("utf8") : Buffer.concat(chunks).toString("utf8"));
      });
      // A connection that breaks in the middle is reported as an error too.
      request.on("error", () => refuse(new HttpProblem(400, "The body ended early")));
    });
  }
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

const RETRY_AFTER_SECONDS = "5";

function tooMuch(): HttpProblem {
  return new HttpProblem(429, "You have too many large bodies on their way; wait until some of them have arrived", {
    "retry-after": RETRY_AFTER_SECONDS,
    connection: "close",
  });
}
