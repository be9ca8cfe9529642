import { expect, it } from "vitest";
import { TOOL_SETS } from "./catalog.js";
import * as declared from "./schemas.js";

function fieldsOf(schema: unknown): string[] {
  return Object.keys((schema as { properties: object }).properties).sort();
}

it("every argument that is checked is advertised, and nothing else", () => {
  const checked = {
    codex: declared.CodexArguments,
    "codex-reply": declared.CodexReplyArguments,
    "codex-review": declared.ReviewArguments,
    "codex-steer": declared.SteerArguments,
    "codex-compact": declared.CompactArguments,
    "codex-threads": declared.ThreadsArguments,
    "codex-exec": declared.ExecArguments,
    "codex-models": declared.ModelsArguments,
    "codex-account": declared.AccountArguments,
    "codex-config": declared.ConfigArguments,
  };
  const shown = TOOL_SETS.codex.map(({ name, inputSchema }) => [name, fieldsOf(inputSchema)]);
  expect(shown).toEqual(Object.entries(checked).map(([name, { shape }]) => [name, Object.keys(shape).sort()]));
});

it("answers are advertised as they are given", () => {
  const shown = TOOL_SETS.codex.flatMap(({ name, outputSchema }) => (outputSchema ? [[name, fieldsOf(outputSchema)]] : []));
  const thread = Object.keys(declared.ThreadAnswer.shape).sort();
  expect(shown).toEqual([
    ["codex", thread],
    ["codex-reply", thread],
    ["codex-review", thread],
    ["codex-compact", thread],
    ["codex-exec", Object.keys(declared.ExecAnswer.shape).sort()],
  ]);
});

it("every tool and every argument says what it is for", () => {
  const silent = TOOL_SETS.codex.flatMap(({ name, description, inputSchema }) => {
    const { properties } = inputSchema as { properties: Record<string, { description?: string }> };
    const fields = Object.entries(properties).map(([field, { description: text }]) => [`${name}.${field}`, text] as const);
    return [[name, description] as const, ...fields].filter(([, text]) => !text).map(([what]) => what);
  });
  expect(silent).toEqual([]);
});
