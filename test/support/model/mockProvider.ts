/** An address that refuses every connection: its port is below the range of automatically assigned ports. */
export const NOBODY_LISTENS = "http://127.0.0.1:9/v1";

const NO_RETRIES = ["request_max_retries = 0", "stream_max_retries = 0"] as const;

/** A config.toml whose model is at this address; `settings` are further lines of the provider's table. */
export function mockProvider(baseUrl: string, settings: readonly string[] = NO_RETRIES): string {
  return configNaming("mock-model", baseUrl, settings);
}

/** The same with this model; undefined names none. */
export function configNaming(model: string | undefined, baseUrl: string, settings: readonly string[] = NO_RETRIES): string {
  const named = model === undefined ? [] : [`model = ${JSON.stringify(model)}`];
  const provider = ["[model_providers.mock]", 'name = "mock"', `base_url = "${baseUrl}"`, 'wire_api = "responses"', ...settings];
  return [...named, 'model_provider = "mock"', ...provider].join("\n").concat("\n");
}
