import { mkdir, mkdtemp, realpath, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { runToEnd } from "./runToEnd.js";

export const ROOT = fileURLToPath(new URL("../../..", import.meta.url));

export interface PackedPackage extends AsyncDisposable {
  readonly tarball: { readonly size: number; readonly unpackedSize: number; readonly files: readonly string[] };
  /** The folder of the package after an install into an empty folder. */
  readonly folder: string;
  /** The commands that a user gets. */
  readonly bins: { readonly server: string; readonly alias: string };
}

/** The package as it would be published, installed as by a user: into an empty folder, without scripts, network or cache. */
export async function installPacked(): Promise<PackedPackage> {
  const root = await realpath(await mkdtemp(path.join(tmpdir(), "packed-")));
  const home = path.join(root, "project");
  await mkdir(home);
  const [tarball] = JSON.parse(await npm(ROOT, ["pack", "--json", "--ignore-scripts", "--pack-destination", root]));
  const alone = ["--ignore-scripts", "--offline", "--no-audit", "--no-fund", "--cache", path.join(root, "cache"), "--prefix", home];
  await npm(home, ["install", ...alone, path.join(root, tarball.filename)]);
  const modules = path.join(home, "node_modules");
  return {
    tarball: { ...tarball, files: tarball.files.map((file: { path: string }) => file.path) },
    folder: path.join(modules, "codex-mcpd"),
    bins: { server: path.join(modules, ".bin", "codex-mcp-server"), alias: path.join(modules, ".bin", "codex-mcpd") },
    [Symbol.asyncDispose]: () => rm(root, { recursive: true, force: true, maxRetries: 3 }),
  };
}

/** The output of npm; when it fails, an error that says why. */
export async function npm(cwd: string, args: readonly string[]): Promise<string> {
  const { code, stdout, stderr } = await runToEnd(["npm", ...args], { cwd, timeoutMs: 120_000 });
  if (code === 0) return stdout;
  throw new Error(`npm ${args[0]} failed in ${cwd} (exit code ${code}): ${stderr.trim() || stdout.trim()}`);
}
