import type { ModelProvider } from "../../../threads/settings.js";

/** The keys of the provider in use are ours, not the commands'. */
export function secretVariables({ envKey, envHttpHeaders }: ModelProvider): string[] {
  return ["OPENAI_API_KEY", "CODEX_API_KEY", ...(envKey === undefined ? [] : [envKey]), ...Object.values(envHttpHeaders)];
}
