import { type BigIntStats, constants } from "node:fs";
import { type FileHandle, lstat, open, readlink, realpath, statfs } from "node:fs/promises";
import path from "node:path";
import { errorCode } from "../errors.js";
import { descriptorPath, isKernelFileSystem, isKernelPlace, LONGEST_PATH, pathTooLong } from "./kernelFiles.js";
import { ReadRefused } from "./readRefused.js";

/** Decides about a path without links, whether it exists or not. */
export type MayRead = (realPath: string) => boolean;

export interface ReadLimit {
  /** The most that is read, whatever size the file claims to have. */
  readonly maxBytes: number;
  /** What to do with a larger file. */
  readonly larger: "cut" | "refuse";
}

export interface ReadFile {
  readonly bytes: Buffer;
  readonly stats: BigIntStats;
  /** The file has more content than was read. */
  readonly isCut: boolean;
}

/** Never blocks on a pipe or a device at the path, and never follows a link there. */
const FLAGS = constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW | constants.O_NOCTTY;

/**
 * Reads a file whose path comes from a model, a caller or a repository. Links are resolved first and the real path is checked. The opened
 * file is checked again by its own path, so that replacing a folder by a link in between gains nothing. Throws ReadRefused or the system's
 * error.
 */
export async function readGuarded(file: string, { mayRead, ...limit }: ReadLimit & { readonly mayRead: MayRead }): Promise<ReadFile> {
  const real = await whereItLeads(file);
  assertReadable(real, mayRead);
  await using opened = await open(real, FLAGS);
  await assertStillReadable(opened, { real, mayRead });
  return await readOpened(opened, limit);
}

/** Reads an entry of a folder that the caller holds open and has checked; the system refuses a link there. */
export async function readEntry(entry: string, limit: ReadLimit): Promise<ReadFile> {
  await using opened = await open(entry, FLAGS);
  return await readOpened(opened, limit);
}

const LONGEST_CHAIN = 40;

/** The real path; for a missing file, the path it would have. So a hidden file is refused in the same way, whether it exists or not. */
async function whereItLeads(file: string): Promise<string> {
  if (file.length > LONGEST_PATH) throw pathTooLong();
  try {
    return await realpath(file);
  } catch (error) {
    if (!isMissing(error)) throw error;
  }
  // Starts at the root and stops at the first missing part: to look up every part of a long path takes seconds.
  let { root: real } = path.parse(file);
  let steps = stepsOf(file);
  for (let links = 0; steps.length > 0; ) {
    const [step = "", ...rest] = steps;
    const place = path.join(real, step);
    const target = await targetOf(place);
    if (target === "missing" || links > LONGEST_CHAIN) return path.join(place, ...rest);
    steps = rest;
    if (target === "not-a-link") real = place;
    else {
      links++;
      steps = [...stepsOf(target.link), ...rest];
      if (path.isAbsolute(target.link)) ({ root: real } = path.parse(target.link));
    }
  }
  return real;
}

async function targetOf(place: string): Promise<{ readonly link: string } | "not-a-link" | "missing"> {
  try {
    return { link: await readlink(place) };
  } catch (error) {
    if (isMissing(error)) return "missing";
    if (errorCode(error) === "EINVAL") return "not-a-link";
    throw error;
  }
}

function isMissing(error: unknown): boolean {
  return ["ENOENT", "ENOTDIR"].includes(errorCode(error) ?? "");
}

function stepsOf(file: string): string[] {
  return file.split(path.sep).filter((step) => step !== "" && step !== ".");
}

function assertReadable(real: string, mayRead: MayRead): void {
  if (isKernelPlace(real)) throw new ReadRefused("kernel");
  if (!mayRead(real)) throw new ReadRefused("hidden");
}

async function assertStillReadable(opened: FileHandle, { real, mayRead }: { real: string; mayRead: MayRead }): Promise<void> {
  const link = descriptorPath(opened.fd);
  const place = link === undefined ? await realpath(real).catch(() => "") : await readlink(link);
  if (link !== undefined && place === real) return;
  const [there, here] = await Promise.all([lstat(place, { bigint: true }).catch(() => undefined), opened.stat({ bigint: true })]);
  if (there?.ino !== here.ino || there.dev !== here.dev) throw new ReadRefused("moved");
  assertReadable(place, mayRead);
}

async function readOpened(opened: FileHandle, { maxBytes, larger }: ReadLimit): Promise<ReadFile> {
  const stats = await opened.stat({ bigint: true });
  // Reading a folder fails with the system's own error.
  if (!stats.isFile() && !stats.isDirectory()) throw new ReadRefused("kind");
  const link = descriptorPath(opened.fd);
  if (link !== undefined && isKernelFileSystem((await statfs(link)).type)) throw new ReadRefused("kernel");
  const assertFits = (size: number) => {
    if (larger === "refuse" && size > maxBytes) throw new ReadRefused("size", { maxBytes });
  };
  assertFits(Number(stats.size));
  const bytes = await bytesUpTo(opened, { most: maxBytes + 1, expected: Number(stats.size) + 1 });
  assertFits(bytes.length);
  return { bytes: bytes.subarray(0, maxBytes), stats, isCut: bytes.length > maxBytes };
}

const SMALLEST_BLOCK_BYTES = 4 * 1024;
const LARGEST_BLOCK_BYTES = 1024 * 1024;

async function bytesUpTo(opened: FileHandle, { most, expected }: { most: number; expected: number }): Promise<Buffer> {
  const size = Math.min(Math.max(expected, SMALLEST_BLOCK_BYTES), LARGEST_BLOCK_BYTES);
  const blocks: Buffer[] = [];
  for (let left = most; left > 0; ) {
    const block = Buffer.allocUnsafe(Math.min(size, left));
    const { bytesRead } = await opened.read(block, 0, block.length, null);
    if (bytesRead === 0) break;
    blocks.push(block.subarray(0, bytesRead));
    left -= bytesRead;
  }
  return blocks.length === 1 ? (blocks[0] ?? Buffer.alloc(0)) : Buffer.concat(blocks);
}
