import type { RawItem } from "../../threads/items.js";
import type { ThreadSettings } from "../../threads/settings.js";
import type { History } from "./history.js";
import { traitsOf } from "./models.js";
import { BASE_INSTRUCTIONS } from "./prompt.js";
import type { Declaration } from "./tools/tool.js";

/** Everything of a model request but the conversation, as JSON text that is made once per thread. */
export class RequestTemplate {
  readonly #start: string;

  constructor({
    threadId,
    settings,
    tools,
  }: { readonly threadId: string; readonly settings: ThreadSettings; readonly tools: readonly Declaration[] }) {
    const fields = {
      model: settings.model,
      instructions: settings.baseInstructions ?? BASE_INSTRUCTIONS,
      tools,
      tool_choice: "auto",
      parallel_tool_calls: traitsOf(settings.model).parallelToolCalls,
      ...reasoningFields(settings),
      store: false,
      stream: true,
      prompt_cache_key: threadId,
    };
    this.#start = `${JSON.stringify(fields).slice(0, -1)},"input":[`;
  }

  body(history: History): string {
    return `${this.#start}${history.inputText}]}`;
  }

  bodyOf(items: readonly RawItem[]): string {
    return `${this.#start}${items.map((item) => JSON.stringify(item)).join(",")}]}`;
  }
}

function reasoningFields(settings: ThreadSettings): Record<string, unknown> {
  const traits = traitsOf(settings.model);
  const asked = traits.verbosity ? (settings.verbosity ?? traits.defaultVerbosity) : undefined;
  const verbosity = asked === undefined ? {} : { text: { verbosity: asked } };
  if (!(settings.supportsReasoningSummaries ?? traits.reasoning)) return { reasoning: null, include: [], ...verbosity };
  const effort = settings.reasoningEffort ?? traits.defaultEffort;
  const summary = settings.reasoningSummary === "none" ? undefined : settings.reasoningSummary;
  return {
    reasoning: { ...(effort === undefined ? {} : { effort }), ...(summary === undefined ? {} : { summary }) },
    include: ["reasoning.encrypted_content"],
    ...verbosity,
  };
}
