// Loaded before the server: at its end it names on stderr the files of the bundle that were needed.
const { writeSync } = require("node:fs");
const path = require("node:path");

process.once("exit", () => {
  const files = Object.keys(require.cache).filter((file) => path.basename(path.dirname(file)) === "dist");
  const names = files.map((file) => path.basename(file, ".js"));
  writeSync(2, `loaded: ${names.sort((a, b) => a.localeCompare(b)).join(" ")}\n`);
});
