import { asFields, nonEmptyText } from "./appServer/read.js";
import { ITEM_KINDS } from "./translate/items.js";
import { NOTIFICATIONS } from "./translate/notifications.js";
import { SERVER_REQUESTS } from "./translate/serverRequests.js";

/** The limit of reported names, for a Codex that sends ever new ones. */
const MOST_NAMES = 100;

/** Reports once each message and kind of item that is newer than this code: turns do not show them. */
export class Novelties {
  readonly #report: (line: string) => void;
  readonly #reported = new Set<string>();

  constructor(report: (line: string) => void) {
    this.#report = report;
  }

  notified(method: string, params: unknown): void {
    if (!NOTIFICATIONS.has(method)) this.#reportOnce(`the notification ${method}`);
    const kind = nonEmptyText(asFields(asFields(params)["item"])["type"]);
    if (method === "item/started" && kind !== undefined && !ITEM_KINDS.has(kind)) this.#reportOnce(`the item kind ${kind}`);
  }

  asked(method: string): void {
    if (!SERVER_REQUESTS.has(method)) this.#reportOnce(`the request ${method}`);
  }

  #reportOnce(what: string): void {
    if (this.#reported.has(what) || this.#reported.size >= MOST_NAMES) return;
    this.#reported.add(what);
    this.#report(`codex: ${what} is not known here and is ignored; a newer codex-mcpd may know it`);
  }
}
