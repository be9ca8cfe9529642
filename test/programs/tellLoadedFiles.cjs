// Loaded before the server: at its end it names on stderr the files of the bundle that were needed. Most are read by the server's own first file, the
// rest are loaded by Node.
const fs = require("node:fs");
const path = require("node:path");

const read = new Set();
const { readFileSync } = fs;
fs.readFileSync = (file, ...rest) => {
  read.add(String(file));
  return readFileSync(file, ...rest);
};

process.once("exit", () => {
  const files = [...read, ...Object.keys(require.cache)].filter(
    (file) => path.basename(path.dirname(file)) === "dist" && file.endsWith(".js"),
  );
  const names = [...new Set(files.map((file) => path.basename(file, ".js")))];
  fs.writeSync(2, `loaded: ${names.sort((a, b) => a.localeCompare(b)).join(" ")}\n`);
});
