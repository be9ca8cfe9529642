import { accessSync, constants } from "node:fs";
import { hostname, networkInterfaces } from "node:os";
import path from "node:path";
import { isOwnProgram, OWN_NAMES, scriptIn } from "../exec/nesting/ownProgram.js";
import type { McpServerSettings, McpServerTransport, ThreadSettings } from "../threads/settings.js";

/** How an entry of `mcp_servers` can name this server. */
export interface OwnPlaces {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** The base folder of programs with a relative path. */
  readonly cwd: string;
  /** The address on which the server listens, if any. */
  readonly address?: OwnAddress | undefined;
}

export interface OwnAddress {
  readonly host: string;
  readonly port: number;
  /** Other host names of the server. */
  readonly names: readonly string[];
}

type Program = Extract<McpServerTransport, { kind: "program" }>;

/** The settings without such entries. Their names are kept for an engine that reads config.toml itself. */
export function withoutOwnEntries(settings: ThreadSettings, places: OwnPlaces): ThreadSettings {
  const own = settings.mcpServers.filter((server) => isOwnEntry(server, places));
  if (own.length === 0) return settings;
  return {
    ...settings,
    mcpServers: settings.mcpServers.filter((server) => !own.includes(server)),
    leftOutServers: own.map(({ name }) => ({
      name,
      warning: `left out MCP server ${name}: it is this server, whose turns must not start others`,
    })),
  };
}

/**
 * Whether an entry of `mcp_servers` leads back to this server or to Codex's own MCP server: its tools would start turns outside the
 * thread's sandbox. A script that starts the server is not recognised here; the mark in its environment covers that case.
 */
export function isOwnEntry({ transport }: Pick<McpServerSettings, "transport">, places: OwnPlaces): boolean {
  if (transport.kind === "http") return places.address !== undefined && isOwnUrl(transport.url, places.address);
  return isOwnCommand([transport.command, ...transport.args], { transport, places });
}

interface Written {
  readonly transport: Program;
  readonly places: OwnPlaces;
}

/** Commands with more nested wrappers are not analysed. */
const MOST_WRAPPINGS = 8;
const WRAPPERS = new Set([
  "env",
  "nohup",
  "setsid",
  "nice",
  "ionice",
  "exec",
  "command",
  "stdbuf",
  "time",
  "timeout",
  "xvfb-run",
  "sudo",
  "doas",
]);
const SHELLS = new Set(["sh", "bash", "dash", "zsh", "ksh", "fish", "busybox"]);
const PACKAGE_RUNNERS = new Set(["npx", "npm", "pnpm", "pnpx", "yarn", "bun", "bunx", "deno", "corepack", "volta", "fnm", "mise"]);
const WINDOWS_ENDING = /\.(?:exe|cmd|bat|ps1)$/i;

function isOwnCommand(given: readonly string[], written: Written): boolean {
  let words = given;
  for (let depth = 0; depth < MOST_WRAPPINGS && words.length > 0; depth++) {
    const [program = "", ...args] = words;
    const name = path.basename(program).replace(WINDOWS_ENDING, "");
    if (isOwnName(name, args) || isOwnFile(program, written)) return true;
    if (PACKAGE_RUNNERS.has(name) && args.some(isOwnPackage)) return true;
    const script = scriptIn(words);
    if (script !== undefined) return isOwnProgram(path.resolve(written.transport.cwd ?? written.places.cwd, script));
    const inner = SHELLS.has(name) ? scriptWords(args) : WRAPPERS.has(name) ? afterWrapper(args) : undefined;
    if (inner === undefined) return false;
    words = inner;
  }
  return false;
}

function isOwnName(name: string, args: readonly string[]): boolean {
  return OWN_NAMES.has(name) || (name === "codex" && (args.includes("mcp-server") || args.join(" ").endsWith("mcp serve")));
}

/** `codex-mcpd`, `codex-mcpd@1.2`, `npm:codex-mcpd@latest`, `--package=codex-mcpd`. */
function isOwnPackage(word: string): boolean {
  return OWN_NAMES.has(
    word
      .replace(/^--?[\w-]+=/, "")
      .replace(/^npm:/, "")
      .replace(/@[^@/]*$/, ""),
  );
}

function isOwnFile(program: string, { transport, places }: Written): boolean {
  if (program.includes("/")) return isOwnProgram(path.resolve(transport.cwd ?? places.cwd, program));
  const searched = transport.env["PATH"] ?? places.env["PATH"] ?? "";
  const found = searched
    .split(path.delimiter)
    .filter((folder) => path.isAbsolute(folder))
    .map((folder) => path.join(folder, program))
    .find(isExecutable);
  return found !== undefined && isOwnProgram(found);
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** The first command of `sh -c '…'`. The script is split at spaces, quotes and operators, not parsed. */
function scriptWords(args: readonly string[]): string[] | undefined {
  const at = args.findIndex((word) => /^-[a-z]*c$/.test(word));
  const script = at < 0 ? args.find((word) => !word.startsWith("-")) : args[at + 1];
  if (script === undefined) return undefined;
  if (at < 0) return [script];
  return withoutAssignments(script.split(/[\s;&|"']+/).filter((word) => word !== ""));
}

/** A wrapper's options may have values, so the first word that can be a program is taken as the program. */
function afterWrapper(args: readonly string[]): string[] {
  return withoutAssignments(args.flatMap((word) => word.replace(/^(?:-S|--split-string=)/, "").split(/\s+/)));
}

function withoutAssignments(words: readonly string[]): string[] {
  const at = words.findIndex((word) => word !== "" && !word.startsWith("-") && !/^\w+=/.test(word) && !/^\d+[smhd]?$/.test(word));
  return at < 0 ? [] : words.slice(at);
}

const LOOPBACK = /^(?:localhost|.*\.localhost|127(?:\.\d+){3}|\[::1\]|\[::ffff:7f[0-9a-f]{2}:[0-9a-f]{1,4}\]|0\.0\.0\.0|\[::\])$/;
const EVERYWHERE = new Set(["0.0.0.0", "::", "[::]", ""]);

function isOwnUrl(written: string, { host, port, names }: OwnAddress): boolean {
  if (!URL.canParse(written)) return false;
  const url = new URL(written);
  if (Number(url.port || (url.protocol === "https:" ? 443 : 80)) !== port) return false;
  const asked = url.hostname.replace(/\.$/, "").toLowerCase();
  if (LOOPBACK.test(asked)) return true;
  const listed = [host, ...names, ...(EVERYWHERE.has(host) ? [hostname(), ...addressesHere()] : [])];
  return listed.some((name) => bare(name) === bare(asked));
}

function addressesHere(): string[] {
  return Object.values(networkInterfaces()).flatMap((addresses) => (addresses ?? []).map(({ address }) => address));
}

function bare(name: string): string {
  return name.replace(/^\[|\]$/g, "").toLowerCase();
}
