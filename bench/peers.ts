import { execFile } from "node:child_process";
import { existsSync, mkdirSync } from "node:fs";
import { homedir } from "node:os";
import path from "node:path";
import { promisify } from "node:util";

const INSTALL_DEADLINE_MS = 5 * 60_000;

/** The folder of peers and of the servers' workspaces, outside any repository, because Codex would read git information there. */
export function cacheFolder(): string {
  return path.resolve(process.env.CODEX_MCPD_CACHE || path.join(homedir(), ".cache", "codex-mcpd"));
}

/** The program file of a published Codex, installed from npm on first use. */
export async function codexProgram({
  version,
  start,
  signal,
}: {
  readonly version: string;
  readonly start: "native" | "launcher";
  readonly signal: AbortSignal;
}): Promise<string> {
  const folder = path.join(cacheFolder(), "peers", version);
  const modules = path.join(folder, "node_modules");
  const program = start === "launcher" ? path.join(modules, ".bin", "codex") : nativeProgram(modules, version);
  if (!existsSync(program)) await install(folder, `@openai/codex@${version}`, signal);
  if (!existsSync(program)) throw new Error(`@openai/codex@${version} has no program for ${process.platform} ${process.arch}`);
  return program;
}

/** The program file of a published OpenCode, from its package for this platform, installed in the same way. */
export async function opencodeProgram(signal: AbortSignal): Promise<string> {
  return platformProgram({ name: `opencode-${process.platform}-${process.arch}`, version: "1.18.33", program: "bin/opencode", signal });
}

/** The Node of a version, installed in the same way. */
export async function nodeProgram(version: string, signal: AbortSignal): Promise<string> {
  return platformProgram({ name: `node-${process.platform}-${process.arch}`, version, program: "bin/node", signal });
}

/** The program of a package that contains nothing else. */
async function platformProgram({ name, version, program, signal }: PlatformProgram): Promise<string> {
  const folder = path.join(cacheFolder(), "peers", `${name}-${version}`);
  const file = path.join(folder, "node_modules", name, program);
  if (!existsSync(file)) await install(folder, `${name}@${version}`, signal);
  if (!existsSync(file)) throw new Error(`${name}@${version} does not contain ${program}`);
  return file;
}

interface PlatformProgram {
  readonly name: string;
  readonly version: string;
  readonly program: string;
  readonly signal: AbortSignal;
}

function nativeProgram(modules: string, version: string): string {
  const triple = TRIPLES[`${process.platform}-${process.arch}`];
  if (triple === undefined) throw new Error(`no native Codex for ${process.platform} ${process.arch}`);
  // Older versions have one package for all platforms, newer ones a package for each.
  if (version === "0.92.0") return path.join(modules, "@openai/codex/vendor", triple, "codex/codex");
  return path.join(modules, `@openai/codex-${process.platform}-${process.arch}/vendor`, triple, "bin/codex");
}

const TRIPLES: Readonly<Record<string, string>> = {
  "linux-x64": "x86_64-unknown-linux-musl",
  "linux-arm64": "aarch64-unknown-linux-musl",
  "darwin-x64": "x86_64-apple-darwin",
  "darwin-arm64": "aarch64-apple-darwin",
};

async function install(folder: string, spec: string, signal: AbortSignal): Promise<void> {
  mkdirSync(folder, { recursive: true });
  console.error(`installing ${spec} into ${folder}`);
  const argv = ["install", "--prefix", folder, "--no-fund", "--no-audit", "--fetch-retries=1", "--fetch-retry-mintimeout=1000", spec];
  try {
    await promisify(execFile)("npm", argv, { cwd: folder, timeout: INSTALL_DEADLINE_MS, signal });
  } catch (cause) {
    throw new Error(`"npm ${argv.join(" ")}" failed`, { cause });
  }
}
