// Builds the console into dist/console/. The build takes seconds, so it is skipped if none of its inputs has changed.
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";

const OUTPUT = "dist/console/index.html";
const NOTE = ".cache/console-inputs";

const inputs = readdirSync("console", { recursive: true, withFileTypes: true })
  .filter((entry) => entry.isFile() && !/\.test\.tsx?$/.test(entry.name))
  .map((entry) => path.posix.join(entry.parentPath, entry.name));
// Inputs beside the sources: the versions of the libraries, and the build configuration.
const digest = createHash("sha256");
for (const file of [...inputs.sort(), "package-lock.json", "scripts/build-console.mjs"]) digest.update(file).update(readFileSync(file));
const built = digest.digest("hex");

if (!existsSync(OUTPUT) || !existsSync(NOTE) || readFileSync(NOTE, "utf8") !== built) {
  // The environment of the caller (a test runner, for example) must not cause a development build, which contains the paths of our folders.
  process.env["NODE_ENV"] = "production";
  // Loaded only when needed: it takes longer than everything above.
  const { build } = await import("vite");
  await build({ configFile: "console/vite.config.ts", logLevel: process.argv.includes("--sizes") ? "info" : "warn" });
  mkdirSync(path.dirname(NOTE), { recursive: true });
  writeFileSync(NOTE, built);
}
