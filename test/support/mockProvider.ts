/** An address at which every connection is refused: a port below the range from which listeners are given theirs. */
export const NOBODY_LISTENS = "http://127.0.0.1:9/v1";

/** A config.toml whose model is at this address; `settings` are further lines of the provider's table. */
export function mockProvider(baseUrl: string, settings: readonly string[] = ["request_max_retries = 0", "stream_max_retries = 0"]): string {
  const provider = ["[model_providers.mock]", 'name = "mock"', `base_url = "${baseUrl}"`, 'wire_api = "responses"', ...settings];
  return ['model = "mock-model"', 'model_provider = "mock"', ...provider].join("\n").concat("\n");
}
