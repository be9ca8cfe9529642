// The inspector's command line makes one call a run; each gets a server of its own.
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { converse, server, signal } from "./run.mjs";

const program = new URL("node_modules/.bin/mcp-inspector", import.meta.url).pathname;

/** @param {readonly string[]} args */
async function inspect(...args) {
  const env = Object.entries(server.env ?? {}).flatMap(([name, value]) => ["-e", `${name}=${value}`]);
  const target = server.url ? [server.url, "--transport", "http"] : [...env, server.command, ...server.args];
  // It also prints results that are errors, and then exits with another code.
  const { stdout } = await promisify(execFile)(program, ["--cli", ...target, ...args], { signal, maxBuffer: 16 * 1024 * 1024 }).catch(
    (error) => error,
  );
  return JSON.parse(stdout);
}

const { tools } = await inspect("--method", "tools/list");
await converse(
  tools.map((/** @type {{ name: string }} */ { name }) => name),
  (name, args) => {
    const given = Object.entries(args).flatMap(([key, value]) => ["--tool-arg", `${key}=${String(value)}`]);
    return inspect("--method", "tools/call", "--tool-name", name, ...given);
  },
);
