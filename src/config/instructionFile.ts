import { describe, errorCode } from "../lib/errors.js";
import { ReadRefused } from "../lib/files/readRefused.js";
import { readSmallFile } from "../lib/files/smallFile.js";
import { ConfigInvalid } from "./errors.js";

/** Far more than any model takes. */
const LARGEST = { maxBytes: 1024 * 1024 };

/** The text of a file that a setting names. `purpose` begins the complaint: "model instructions file is empty: …". */
export function readInstructionFile(file: string, purpose: string): string {
  const content = readText(file, purpose).trim();
  if (content === "") throw new ConfigInvalid(`${purpose} is empty: ${file}`);
  return content;
}

function readText(file: string, purpose: string): string {
  try {
    return readSmallFile(file, LARGEST);
  } catch (error) {
    const why = error instanceof ReadRefused ? describe(error) : (errorCode(error) ?? describe(error));
    throw new ConfigInvalid(`failed to read ${purpose} ${file}: ${why}`, { cause: error });
  }
}
