import { isRequestId, jsonText, parseJson, type RequestId, resultText } from "../../../jsonrpc/message.js";
import { isFields } from "../../../lib/fields.js";
import { lostCall } from "../../wording/callResult.js";

/** What an event id says of the call that its event is about, to a server that knows nothing else of it. */
export interface CallMark {
  readonly requestId: RequestId;
  /** The thread it works on, once that is known. */
  readonly thread?: string | undefined;
}

/** Longer ids of requests are not repeated with every event. */
const MAX_REQUEST_LENGTH = 96;
const MARK = /^[^.]*\.[^.]*\.[^.]*\.([A-Za-z0-9_-]{1,128})(?:\.([0-9a-f-]{36}))?$/;

/** What is appended to an event's id; empty where the request cannot be named. */
export function callMarkText({ requestId, thread }: CallMark): string {
  const request = jsonText({ id: requestId });
  if (request.length > MAX_REQUEST_LENGTH) return "";
  return `.${Buffer.from(request).toString("base64url")}${thread === undefined ? "" : `.${thread}`}`;
}

/** The call that an event id of any server names, if it names one. */
export function callIn(eventId: string): CallMark | undefined {
  const [, encoded, thread] = MARK.exec(eventId) ?? [];
  if (encoded === undefined) return undefined;
  const requestId = idIn(Buffer.from(encoded, "base64url").toString("utf8"));
  return isRequestId(requestId) ? { requestId, thread } : undefined;
}

/** Anybody can write an event id. */
function idIn(text: string): unknown {
  try {
    const named = parseJson(text);
    return isFields(named) ? named["id"] : undefined;
  } catch {
    return undefined;
  }
}

/** The answer to a call that is over, for a client that comes back for it to a server that was not there when it began. */
export function lostAnswer({ requestId, thread }: CallMark): string {
  return resultText(requestId, lostCall(thread));
}
