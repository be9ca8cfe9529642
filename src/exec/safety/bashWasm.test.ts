import { spawnSync } from "node:child_process";
import { copyFileSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { build } from "esbuild";
import { expect, it } from "vitest";

it("a bundle far from any package reads bash with the two files beside it", async () => {
  const dist = mkdtempSync(path.join(tmpdir(), "dist-"));
  try {
    const contents = `import { openBashParser } from "./src/exec/safety/bash.ts";
      process.stdout.write(JSON.stringify((await openBashParser()).plainCommands("ls")));`;
    const outfile = path.join(dist, "chunks", "entry.mjs");
    await build({
      stdin: { contents, resolveDir: process.cwd() },
      outfile,
      bundle: true,
      platform: "node",
      format: "esm",
      logLevel: "error",
    });
    copyFileSync("node_modules/web-tree-sitter/web-tree-sitter.wasm", path.join(dist, "web-tree-sitter.wasm"));
    copyFileSync("node_modules/tree-sitter-bash/tree-sitter-bash.wasm", path.join(dist, "tree-sitter-bash.wasm"));
    const run = spawnSync(process.execPath, [outfile], { encoding: "utf8" });
    expect({ stdout: run.stdout, stderr: run.stderr }).toEqual({ stdout: '[{"words":["ls"],"mayGainOptions":false}]', stderr: "" });
  } finally {
    rmSync(dist, { recursive: true });
  }
});
