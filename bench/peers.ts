import { execFile } from "node:child_process";
import { existsSync, mkdirSync } from "node:fs";
import { homedir } from "node:os";
import path from "node:path";
import { promisify } from "node:util";

const INSTALL_DEADLINE_MS = 5 * 60_000;

/** Peers and the folders servers run in live here, outside any repository: Codex would look for git facts there. */
export function cacheFolder(): string {
  return path.resolve(process.env.CODEX_MCPD_CACHE ?? path.join(homedir(), ".cache", "codex-mcpd"));
}

/** The program file of a published Codex, installed from npm the first time it is asked for. */
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
  if (!existsSync(program)) throw new Error(`@openai/codex@${version} holds no program for ${process.platform} ${process.arch}`);
  return program;
}

function nativeProgram(modules: string, version: string): string {
  const triple = TRIPLES[`${process.platform}-${process.arch}`];
  if (triple === undefined) throw new Error(`no native Codex for ${process.platform} ${process.arch}`);
  // One package held every platform's program until they were split into a package each.
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
