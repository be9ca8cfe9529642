import { isFields } from "../../lib/fields.js";

/** What a tool's output for the model says about the command. */
export interface CommandOutput {
  readonly output: string;
  readonly exitCode: number | null;
  readonly durationMs: number | null;
  /** The command did not run. */
  readonly declined: boolean;
}

const HEADED =
  /^(?:Chunk ID: .*\n)?(?:Exit code: (-?\d+)\n)?Wall time: ([\d.]+) seconds\n(?:Process exited with code (-?\d+)\n)?(?:[^\n]*\n){0,3}?Output:\n/;
const DECLINED = /^(?:exec command|patch) (?:rejected by user|not approved)/;

/** Outputs have several formats: JSON with metadata, or lines above the output. */
export function readOutput(text: string): CommandOutput {
  const declined = isRefusal(text);
  const [head, code, seconds, exited] = HEADED.exec(text) ?? [];
  if (head !== undefined)
    return { output: text.slice(head.length), exitCode: numberOf(code ?? exited), durationMs: msOf(numberOf(seconds)), declined };
  const { output, metadata } = asJson(text);
  if (typeof output !== "string" || !isFields(metadata)) return { output: text, exitCode: null, durationMs: null, declined };
  return { output, exitCode: numberOf(metadata["exit_code"]), durationMs: msOf(numberOf(metadata["duration_seconds"])), declined };
}

/** The output text of an action that was not allowed. */
export function isRefusal(output: string): boolean {
  return DECLINED.test(output);
}

function asJson(text: string): Readonly<Record<string, unknown>> {
  if (!text.startsWith("{")) return {};
  try {
    const value: unknown = JSON.parse(text);
    return isFields(value) ? value : {};
  } catch {
    return {};
  }
}

function numberOf(value: unknown): number | null {
  const number = typeof value === "number" || typeof value === "string" ? Number(value) : Number.NaN;
  return Number.isFinite(number) ? number : null;
}

function msOf(seconds: number | null): number | null {
  return seconds === null ? null : Math.round(seconds * 1_000);
}
