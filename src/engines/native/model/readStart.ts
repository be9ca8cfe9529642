import type { IncomingMessage } from "node:http";
import { describe } from "../../../lib/errors.js";

/** The first characters of an answer; more is not read. */
export async function readStart(response: IncomingMessage, limit: number): Promise<string> {
  let text = "";
  response.setEncoding("utf8");
  try {
    for await (const chunk of response as AsyncIterable<string>) {
      text += chunk;
      if (text.length >= limit) break;
    }
  } catch (error) {
    text += ` (the rest of the answer could not be read: ${describe(error)})`;
  }
  return text.slice(0, limit);
}
