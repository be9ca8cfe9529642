import { closeSync, openSync, readFileSync, readSync, realpathSync, statSync } from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import { isExecutableFile } from "../../../exec/outside/outsidePrograms.js";
import { type Fields, isFields } from "../../../lib/fields.js";
import { CodexMissing, CodexUnusable } from "./errors.js";
import { type CodexSearch, type FoundCodex, findCodex, passedOver, programsOf } from "./locate.js";

/** The program to start: the native one behind the npm launcher, otherwise the one found. Throws `CodexMissing` or `CodexUnusable`. */
export function codexProgram(search: CodexSearch, machine: Machine = process): string {
  const found = findCodex(search);
  if (!found)
    throw new CodexMissing(
      passedOver(search) ??
        "No Codex CLI was found on PATH: install it (npm install -g @openai/codex), or name it with --codex-bin or CODEX_BIN, or use --engine native.",
    );
  const file = checkedFile(found);
  const beginning = readBeginning(file);
  if (isScript(beginning)) return requireTrusted(nativeBehind(file, machine) ?? file, found, search);
  if (matchesMachine(beginning, machine)) return file;
  throw new CodexUnusable(
    `${file} (${found.namedBy}) is not a program for ${machine.platform} ${machine.arch}. Install the Codex CLI for this machine, or use --engine native.`,
  );
}

/** A trusted launcher may lead to a program that commands could have changed. */
function requireTrusted(program: string, { path: launcher, namedBy }: FoundCodex, search: CodexSearch): string {
  if (namedBy !== "PATH" || programsOf(search).trusts(program)) return program;
  throw new CodexUnusable(
    `${launcher} leads to ${program}, which commands of threads may write. To use it, name it with --codex-bin; otherwise use --engine native.`,
  );
}

function checkedFile({ path: file, namedBy }: FoundCodex): string {
  const remedy = `Correct ${namedBy}, or use --engine native.`;
  const stats = statSync(file, { throwIfNoEntry: false });
  if (!stats) throw new CodexMissing(`${file} (${namedBy}) does not exist. ${remedy}`);
  if (!stats.isFile()) throw new CodexUnusable(`${file} (${namedBy}) is not a file. ${remedy}`);
  if (!isExecutableFile(file)) throw new CodexUnusable(`${file} (${namedBy}) may not be executed. Run chmod +x on it. ${remedy}`);
  return realpathSync(file);
}

/** The launcher of the npm package resolves its program by Node's rules; so do we. */
function nativeBehind(launcher: string, machine: Machine): string | undefined {
  const name = platformPackage(machine);
  if (name === undefined) return undefined;
  const folders: string[] = [];
  try {
    folders.push(path.dirname(createRequire(launcher).resolve(`${name}/package.json`)));
  } catch {
    // Another script, or a package that contains the programs of all platforms itself.
  }
  folders.push(path.join(path.dirname(launcher), ".."));
  return folders.flatMap((folder) => nativeProgramIn(folder, machine)).find(isExecutableFile);
}

/** A program is at most this many folders below its package. */
const PACKAGE_DEPTH = 5;

/** The version of the npm package around a program; undefined where there is none, and for a launcher whose program is missing. */
export function packagedVersion(program: string): string | undefined {
  if (isScript(readBeginning(program))) return undefined;
  let folder = path.dirname(program);
  for (let depth = 0; depth < PACKAGE_DEPTH; depth++, folder = path.dirname(folder)) {
    const { name, version } = manifestIn(folder);
    if (typeof name === "string" && name.startsWith("@openai/codex") && typeof version === "string") return version;
  }
  return undefined;
}

function manifestIn(folder: string): Fields {
  try {
    const manifest: unknown = JSON.parse(readFileSync(path.join(folder, "package.json"), "utf8"));
    return isFields(manifest) ? manifest : {};
  } catch {
    return {};
  }
}

function isScript(beginning: Buffer): boolean {
  return beginning.toString("latin1", 0, 2) === "#!";
}

/** Enough to recognise the kind of program. */
const BEGINNING_BYTES = 20;

function readBeginning(file: string): Buffer {
  const bytes = Buffer.alloc(BEGINNING_BYTES);
  let descriptor: number;
  try {
    descriptor = openSync(file, "r");
  } catch {
    // A program may be executable without being readable: starting it will show what it is.
    return bytes;
  }
  try {
    readSync(descriptor, bytes, 0, BEGINNING_BYTES, 0);
    return bytes;
  } finally {
    closeSync(descriptor);
  }
}

/** The part of `process` that decides which program can run. */
interface Machine {
  readonly platform: string;
  readonly arch: string;
}

const TRIPLES: Readonly<Record<string, string>> = {
  "linux-x64": "x86_64-unknown-linux-musl",
  "linux-arm64": "aarch64-unknown-linux-musl",
  "darwin-x64": "x86_64-apple-darwin",
  "darwin-arm64": "aarch64-apple-darwin",
  "win32-x64": "x86_64-pc-windows-msvc",
  "win32-arm64": "aarch64-pc-windows-msvc",
};

/** The npm package with Codex's program for this machine. */
function platformPackage({ platform, arch }: Machine): string | undefined {
  return TRIPLES[`${platform}-${arch}`] && `@openai/codex-${platform}-${arch}`;
}

/** The possible locations of that program in a package; the second one was used before 0.120. */
function nativeProgramIn(folder: string, { platform, arch }: Machine): string[] {
  const triple = TRIPLES[`${platform}-${arch}`];
  if (triple === undefined) return [];
  const name = platform === "win32" ? "codex.exe" : "codex";
  return ["bin", "codex"].map((place) => path.join(folder, "vendor", triple, place, name));
}

const ELF_MACHINES: Readonly<Record<string, number>> = { x64: 0x3e, arm64: 0xb7 };
const MACH_O = ["cffaedfe", "cafebabe"];

/** Whether a file that begins like this can run here; true where the beginning is not conclusive. */
function matchesMachine(beginning: Buffer, { platform, arch }: Machine): boolean {
  const magic = beginning.toString("hex", 0, 4);
  if (magic === "00000000") return true;
  if (platform === "win32") return magic.startsWith("4d5a");
  if (platform === "darwin") return MACH_O.includes(magic);
  const machine = ELF_MACHINES[arch];
  return magic === "7f454c46" && (machine === undefined || beginning.readUInt16LE(18) === machine);
}
