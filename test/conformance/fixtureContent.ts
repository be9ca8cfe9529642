import { invalidParams, RPC, RpcError } from "../../src/jsonrpc/errors.js";
import { valueAt } from "../support/scenarios/scenario.js";

type Json = Readonly<Record<string, unknown>>;

/** Prompts, resources and completions that the conformance suite expects, in the form that both eras share. */
export const CONTENT_METHODS: Readonly<Record<string, (params: unknown) => Json>> = {
  "prompts/list": () => ({ prompts: PROMPTS.map(({ declared }) => declared) }),
  "prompts/get": (params) => ({ messages: promptNamed(params).say(argumentsIn(params)) }),
  "resources/list": () => ({ resources: RESOURCES.map(({ declared }) => declared) }),
  "resources/templates/list": () => ({ resourceTemplates: [TEMPLATE] }),
  "resources/read": (params) => ({ contents: [readResource(String(valueAt(params, "uri")))] }),
  "completion/complete": () => ({ completion: { values: ["paris", "park", "party"], total: 3, hasMore: false } }),
};

const PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==";

const SILENCE = "UklGRiQAAABXQVZFZm10IBAAAAABAAEARKwAAIhYAQACABAAZGF0YQAAAAA=";

export const text = (words: string) => ({ type: "text", text: words });
const image = { type: "image", data: PIXEL, mimeType: "image/png" };
const audio = { type: "audio", data: SILENCE, mimeType: "audio/wav" };
const resource = (uri: string, mimeType: string, words: string) => ({ type: "resource", resource: { uri, mimeType, text: words } });

/** Tools that give every caller the same result. Names and results are the suite's. */
export const PLAIN_TOOLS: Readonly<Record<string, Json>> = {
  test_simple_text: { content: [text("This is a simple text response for testing.")] },
  test_image_content: { content: [image] },
  test_audio_content: { content: [audio] },
  test_embedded_resource: { content: [resource("test://embedded-resource", "text/plain", "An embedded resource.")] },
  test_multiple_content_types: { content: [text("Several:"), image, resource("test://mixed", "application/json", '{"value":123}')] },
  test_error_handling: { content: [text("This tool always fails.")], isError: true },
  json_schema_2020_12_tool: { content: [text("done")] },
};

const words = (said: string) => ({ role: "user", content: text(said) });
const argument = (name: string) => ({ name, description: `The argument ${name}.`, required: true });

const PROMPTS = [
  {
    declared: { name: "test_simple_prompt", description: "Without arguments." },
    say: () => [words("This is a simple prompt for testing.")],
  },
  {
    declared: { name: "test_prompt_with_arguments", description: "With two.", arguments: [argument("arg1"), argument("arg2")] },
    say: ({ arg1, arg2 }: Json) => [words(`Prompt with arguments: arg1='${String(arg1)}', arg2='${String(arg2)}'`)],
  },
  {
    declared: { name: "test_prompt_with_embedded_resource", description: "With a resource.", arguments: [argument("resourceUri")] },
    say: ({ resourceUri }: Json) => [
      { role: "user", content: resource(String(resourceUri), "text/plain", "Embedded resource content for testing.") },
      words("Please process the embedded resource above."),
    ],
  },
  {
    declared: { name: "test_prompt_with_image", description: "With an image." },
    say: () => [{ role: "user", content: image }, words("Please analyze the image above.")],
  },
];

const RESOURCES = [
  {
    declared: { uri: "test://static-text", name: "static text", description: "It does not change.", mimeType: "text/plain" },
    content: { text: "This is the content of the static text resource." },
  },
  {
    declared: { uri: "test://static-binary", name: "static image", description: "It does not change.", mimeType: "image/png" },
    content: { blob: PIXEL },
  },
  {
    declared: { uri: "test://watched-resource", name: "watched", description: "One to subscribe to.", mimeType: "text/plain" },
    content: { text: "Watched." },
  },
];

const TEMPLATE = {
  uriTemplate: "test://template/{id}/data",
  name: "template",
  description: "One for each id.",
  mimeType: "application/json",
};

function promptNamed(params: unknown): { say(args: Json): readonly unknown[] } {
  const prompt = PROMPTS.find(({ declared }) => declared.name === valueAt(params, "name"));
  if (prompt) return prompt;
  throw invalidParams("there is no such prompt");
}

function argumentsIn(params: unknown): Json {
  return (valueAt(params, "arguments") ?? {}) as Json;
}

function readResource(uri: string): Json {
  const known = RESOURCES.find(({ declared }) => declared.uri === uri);
  if (known) return { uri, mimeType: known.declared.mimeType, ...known.content };
  const [, id] = /^test:\/\/template\/([^/]+)\/data$/.exec(uri) ?? [];
  if (id === undefined) throw new RpcError(RPC.invalidParams, "Resource not found", { uri });
  return { uri, mimeType: TEMPLATE.mimeType, text: JSON.stringify({ id, templateTest: true, data: `Data for ID: ${id}` }) };
}
