import { mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { errorCode } from "../../../lib/errors.js";

/**
 * Where servers run that name no folder: never where commands may write, for package runners prefer what lies there, and not
 * only there but in every folder above. The file ends their search.
 */
export function startFolder(codexHome: string): string {
  const folder = path.join(codexHome, "mcp-server", "start-folder");
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    writeFileSync(path.join(folder, "package.json"), '{ "private": true }\n', { flag: "wx", mode: 0o600 });
  } catch (error) {
    if (errorCode(error) !== "EEXIST") return path.parse(codexHome).root;
  }
  return folder;
}
