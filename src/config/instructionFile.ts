import { readFileSync } from "node:fs";
import { describe, errorCode } from "../lib/errors.js";
import { ConfigInvalid } from "./errors.js";

/** The text of a file that a setting names. `purpose` begins the complaint: "model instructions file is empty: …". */
export function readInstructionFile(file: string, purpose: string): string {
  const content = readText(file, purpose).trim();
  if (content === "") throw new ConfigInvalid(`${purpose} is empty: ${file}`);
  return content;
}

function readText(file: string, purpose: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch (error) {
    throw new ConfigInvalid(`failed to read ${purpose} ${file}: ${errorCode(error) ?? describe(error)}`, { cause: error });
  }
}
