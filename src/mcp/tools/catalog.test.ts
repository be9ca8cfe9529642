import { expect, it } from "vitest";
import { CATALOG } from "./catalog.js";
import { CodexArguments, CodexReplyArguments, ThreadAnswer } from "./schemas.js";

it("every argument that is checked is advertised, and nothing else", () => {
  const names = (schema: unknown) => Object.keys((schema as { properties: object }).properties).sort();
  expect(CATALOG.map(({ name, inputSchema, outputSchema }) => [name, names(inputSchema), names(outputSchema)])).toEqual([
    ["codex", Object.keys(CodexArguments.shape).sort(), Object.keys(ThreadAnswer.shape).sort()],
    ["codex-reply", Object.keys(CodexReplyArguments.shape).sort(), Object.keys(ThreadAnswer.shape).sort()],
  ]);
});

it("every tool and every argument says what it is for", () => {
  const silent = CATALOG.flatMap(({ name, description, inputSchema }) => {
    const { properties } = inputSchema as { properties: Record<string, { description?: string }> };
    const fields = Object.entries(properties).map(([field, { description: text }]) => [`${name}.${field}`, text] as const);
    return [[name, description] as const, ...fields].filter(([, text]) => !text).map(([what]) => what);
  });
  expect(silent).toEqual([]);
});
