import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";
import { tuneCompiler } from "../../platform/v8.js";

/** The package that brings each file, for a run from the source tree. The build puts copies of both beside the bundle. */
const PACKAGE_OF = {
  "web-tree-sitter.wasm": "web-tree-sitter",
  "tree-sitter-bash.wasm": "tree-sitter-bash",
} as const;

// In a server that has been done; not where this is used by itself.
tuneCompiler();

export function readWasm(name: keyof typeof PACKAGE_OF): Promise<Buffer> {
  return readFile(besideTheBundle(name) ?? createRequire(import.meta.url).resolve(`${PACKAGE_OF[name]}/${name}`));
}

// This code ends up in `dist/main.js` or in `dist/chunks/…`, the files in `dist/`.
function besideTheBundle(name: string): string | undefined {
  return [`./${name}`, `../${name}`].map((file) => fileURLToPath(new URL(file, import.meta.url))).find((file) => existsSync(file));
}
