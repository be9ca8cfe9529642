import { AppError } from "./errors.js";
import { type ThreadId, threadIdOf } from "./ids.js";

export class InvalidUuid extends AppError {
  readonly code = "invalid_uuid";
}

const GROUP_LENGTHS = [8, 4, 4, 4, 12] as const;

/** Accepts every form of a UUID (plain, hyphenated, braced, URN) and returns the hyphenated one. Errors have Codex's wording. */
export function parseThreadId(text: string): ThreadId {
  const { digits, offset, bare } = unwrap(text);
  const groups = digits.split("-");
  const foreign = [...digits].findIndex((char) => !/[0-9a-fA-F-]/.test(char));
  if (foreign >= 0) {
    const found = [...digits][foreign];
    throw new InvalidUuid(
      `invalid character: expected an optional prefix of \`urn:uuid:\` followed by [0-9a-fA-F-], found \`${found}\` at ${offset + foreign + 1}`,
    );
  }
  if (groups.length === 1 && digits.length === 32) return threadIdOf(hyphenated(digits));
  if (groups.length === 1 && bare) throw new InvalidUuid(`invalid length: expected length 32 for simple format, found ${text.length}`);
  if (groups.length !== 5) throw new InvalidUuid(`invalid group count: expected 5, found ${groups.length}`);
  const wrong = groups.findIndex((group, at) => group.length !== GROUP_LENGTHS[at]);
  if (wrong >= 0)
    throw new InvalidUuid(`invalid group length in group ${wrong}: expected ${GROUP_LENGTHS[wrong]}, found ${groups[wrong]?.length}`);
  return threadIdOf(digits.toLowerCase());
}

function unwrap(text: string): { digits: string; offset: number; bare: boolean } {
  if (text.startsWith("{") && text.endsWith("}")) return { digits: text.slice(1, -1), offset: 1, bare: false };
  if (text.startsWith("urn:uuid:")) return { digits: text.slice(9), offset: 9, bare: false };
  return { digits: text, offset: 0, bare: true };
}

function hyphenated(digits: string): string {
  const lower = digits.toLowerCase();
  return [lower.slice(0, 8), lower.slice(8, 12), lower.slice(12, 16), lower.slice(16, 20), lower.slice(20)].join("-");
}
