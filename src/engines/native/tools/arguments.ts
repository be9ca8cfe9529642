import type * as z from "zod/mini";

/** A call's arguments, checked; or the complaint that the model gets as its output. */
export function readArguments<T extends z.ZodMiniType>(
  args: string,
  schema: T,
): { readonly value: z.infer<T> } | { readonly complaint: string } {
  let value: unknown;
  try {
    value = JSON.parse(args);
  } catch (error) {
    return { complaint: `failed to parse function arguments: ${error instanceof Error ? error.message : String(error)}` };
  }
  const checked = schema.safeParse(value);
  if (checked.success) return { value: checked.data };
  const [issue] = checked.error.issues;
  return { complaint: `failed to parse function arguments: ${issue?.path.join(".") || "the arguments"}: ${issue?.message ?? "invalid"}` };
}
