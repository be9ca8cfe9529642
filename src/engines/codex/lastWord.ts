import { isFields } from "../../lib/fields.js";

/**
 * Notices when a turn ends with something that the user said to it meanwhile and the model was never asked about: Codex takes such
 * messages up to the very end of a turn.
 */
export class LastWord {
  #messages = 0;
  #isUnanswered = false;

  observe(method: string, params: unknown): void {
    const { item } = isFields(params) ? params : {};
    if (method === "thread/tokenUsage/updated") this.#isUnanswered = false;
    if (method !== "item/started" || !isFields(item)) return;
    const isUsers = item["type"] === "userMessage";
    if (isUsers) this.#messages++;
    // The first one is what the turn is about.
    this.#isUnanswered = isUsers && this.#messages > 1;
  }

  /** True once for each time. */
  takeUnanswered(): boolean {
    const isUnanswered = this.#isUnanswered;
    this.#isUnanswered = false;
    return isUnanswered;
  }
}
