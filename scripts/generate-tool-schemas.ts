// Writes src/mcp/tools/schemas.generated.json from the declarations in schemas.ts; with --check only says whether it is up to date.
import { readFileSync, writeFileSync } from "node:fs";
import * as z from "zod/mini";
import {
  AccountArguments,
  CodexArguments,
  CodexReplyArguments,
  CompactArguments,
  ConfigArguments,
  ExecAnswer,
  ExecArguments,
  ModelsArguments,
  ReviewArguments,
  SteerArguments,
  ThreadAnswer,
  ThreadsArguments,
} from "../src/mcp/tools/schemas.js";

const file = "src/mcp/tools/schemas.generated.json";

function jsonSchema(schema: z.ZodMiniType): unknown {
  const { properties, required, type } = z.toJSONSchema(schema, { target: "draft-7", io: "input" });
  return { properties: withoutExtras(properties), required, type };
}

// zod adds `propertyNames` to records; Codex's schemas do not have it and clients do not need it.
function withoutExtras(properties: Record<string, unknown> | undefined): unknown {
  return JSON.parse(JSON.stringify(properties), (key, value: unknown) => {
    if (key === "propertyNames") return undefined;
    return key === "additionalProperties" ? true : value;
  });
}

const schemas = {
  codexInput: CodexArguments,
  codexReplyInput: CodexReplyArguments,
  answer: ThreadAnswer,
  reviewInput: ReviewArguments,
  steerInput: SteerArguments,
  compactInput: CompactArguments,
  threadsInput: ThreadsArguments,
  execInput: ExecArguments,
  execAnswer: ExecAnswer,
  modelsInput: ModelsArguments,
  accountInput: AccountArguments,
  configInput: ConfigArguments,
};
const generated = Object.fromEntries(Object.entries(schemas).map(([name, schema]) => [name, jsonSchema(schema)]));
const text = `${JSON.stringify(generated, null, 2)}\n`;
if (!process.argv.includes("--check")) writeFileSync(file, text);
else if (readFileSync(file, "utf8") !== text) {
  console.error(`${file} is out of date: node scripts/run-ts.mjs scripts/generate-tool-schemas.ts`);
  process.exitCode = 1;
}
