// Serves MCP over HTTP on this machine with the scripted model: no key, no network. Prints how to use it; Ctrl-C ends it.
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { createInterface } from "node:readline";

/** How long we wait for the remaining output of a server that has ended. */
const REMAINING_OUTPUT_MS = 500;

const home = mkdtempSync(path.join(tmpdir(), "codex-mcpd-start-"));
const server = spawn(process.execPath, ["dist/main.js", "serve", "--engine", "scripted", ...process.argv.slice(2)], {
  env: { ...process.env, CODEX_HOME: home },
  // Ctrl-C signals the whole process group: the server would get it twice and end running turns at once.
  detached: true,
  stdio: ["ignore", "inherit", "pipe"],
});
const lines = createInterface({ input: server.stderr });

for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => server.kill(signal));
server.on("exit", (code) => {
  const end = () => {
    tellEarly();
    rmSync(home, { recursive: true, force: true });
    process.exit(code ?? 1);
  };
  lines.once("close", end);
  setTimeout(end, REMAINING_OUTPUT_MS);
});

let url;
/** Output of the server before the console's address. It is printed after the address. */
let early = [];

lines.on("line", (line) => {
  url = /listening on (\S+)/.exec(line)?.[1] ?? url;
  const [, address] = /console at (\S+)/.exec(line) ?? [];
  if (address) {
    console.log(`\nOpen the console in a browser: ${address}\n`);
    tellEarly();
  } else if (early) early.push(line);
  else console.error(line);
  if (!line.includes("clients connect with")) return;
  tellEarly();
  console.log(`\nMCP is served at ${url} with a SCRIPTED model, which plays the \`!\` lines of a prompt; try "!say hello".`);
  console.log(
    "A real model:  codex-mcp-server serve  (with OPENAI_API_KEY or a provider in ~/.codex/config.toml).  Ctrl-C ends this one.\n",
  );
});

function tellEarly() {
  for (const line of early ?? []) console.error(line);
  early = undefined;
}
