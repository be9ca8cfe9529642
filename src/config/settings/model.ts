import { REASONING_EFFORTS, REASONING_SUMMARIES, VERBOSITIES } from "../../threads/settings.js";
import { active, choice, flag, inert, integer, type SettingGroup, text } from "../types.js";

export const MODEL_GROUP: SettingGroup = {
  title: "Model",
  settings: {
    model: active(text, "The model asked.", "`gpt-5.2-codex`"),
    model_provider: active(text, "Who is asked: a key of `model_providers` or a built-in provider.", "`openai`"),
    model_reasoning_effort: active(choice(REASONING_EFFORTS), "How long the model may think.", "the model's own"),
    model_reasoning_summary: active(choice(REASONING_SUMMARIES), "How much of its reasoning the model sums up.", "`auto`"),
    model_verbosity: active(choice(VERBOSITIES), "How long answers are.", "the model's own"),
    model_supports_reasoning_summaries: active(flag, "Whether summaries may be requested, when the model is not known here.", "by model"),
    model_context_window: active(integer("i64", { atLeast: 1 }), "Tokens the model can read.", "by model"),
    model_auto_compact_token_limit: active(
      integer("i64", { atLeast: 1 }),
      "Tokens in use at which a thread's history is summarised.",
      "by model",
    ),
    hide_agent_reasoning: inert(flag, "Concerns how the Codex CLI shows a turn; clients get all events.", "`false`"),
    show_raw_agent_reasoning: active(flag, "Adds the unsummarised reasoning events, where the provider sends them.", "`false`"),
    openai_base_url: active(text, "Base URL of the built-in `openai` provider; wins over `OPENAI_BASE_URL`.", "OpenAI's"),
    model_personality: inert(choice(["friendly", "pragmatic"]), "Tone of the answers."),
    review_model: inert(text, "Model of Codex's review command.", "`model`"),
  },
};
