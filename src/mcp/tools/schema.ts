/** The JSON Schema of one argument. */
export interface ArgumentSchema {
  readonly type: "string" | "integer" | "boolean" | "array" | "object";
  readonly enum?: readonly string[];
  readonly items?: { readonly type: "string" };
  readonly minimum?: number;
  readonly maximum?: number;
  readonly additionalProperties?: true;
  readonly description: string;
}

/** An argument of a tool: how it is advertised and checked, and, for the compiler only, what a handler gets. */
export interface Argument<T> {
  readonly schema: ArgumentSchema;
  readonly isOptional: boolean;
  readonly type?: () => T;
}

export type ToolArguments = Readonly<Record<string, Argument<unknown>>>;

/** What a handler gets of arguments that were checked. */
export type ValuesOf<A extends ToolArguments> = { readonly [K in keyof A]: A[K] extends Argument<infer T> ? T : never };

function text(description: string): Argument<string> {
  return needed({ type: "string", description });
}

function choice<const V extends string>(values: readonly V[], description: string): Argument<V> {
  return needed({ type: "string", enum: values, description });
}

function whole({ from, to }: { readonly from: number; readonly to: number }, description: string): Argument<number> {
  return needed({ type: "integer", minimum: from, maximum: to, description });
}

function flag(description: string): Argument<boolean> {
  return needed({ type: "boolean", description });
}

function texts(description: string): Argument<readonly string[]> {
  return needed({ type: "array", items: { type: "string" }, description });
}

function table(description: string): Argument<Readonly<Record<string, unknown>>> {
  return needed({ type: "object", additionalProperties: true, description });
}

function optional<T>({ schema }: Argument<T>): Argument<T | undefined> {
  return { schema, isOptional: true };
}

function needed<T>(schema: ArgumentSchema): Argument<T> {
  return { schema, isOptional: false };
}

/** The kinds of arguments that a tool can have. */
export const arg = { text, choice, whole, flag, texts, table, optional };

/** The schema of all arguments of a tool, as `tools/list` shows it. */
export interface InputSchema {
  readonly properties: Readonly<Record<string, ArgumentSchema>>;
  readonly required?: readonly string[];
  readonly type: "object";
}

export function schemaOf(args: ToolArguments): InputSchema {
  const entries = Object.entries(args);
  const required = entries.filter(([, { isOptional }]) => !isOptional).map(([name]) => name);
  return {
    properties: Object.fromEntries(entries.map(([name, { schema }]) => [name, schema])),
    ...(required.length > 0 && { required }),
    type: "object",
  };
}
