import path from "node:path";
import { AppError, describe, errorCode } from "../../../lib/errors.js";
import { readGuarded } from "../../../lib/files/guardedRead.js";
import { isInside } from "../../../platform/paths.js";
import type { AskedLines, FileExcerpt } from "../../../threads/excerpt.js";
import type { Reach } from "../../../threads/limits.js";
import type { ThreadSettings } from "../../../threads/settings.js";
import type { HostEnvironment } from "./hostEnvironment.js";
import { ThreadFiles } from "./threadFiles.js";

/** Only the beginning of a larger file is read. */
const LIMIT = { maxBytes: 4 * 1024 * 1024, larger: "cut" } as const;
const LINES_AROUND = 20;
const MOST_LINES = 200;
const LONGEST_LINE = 2_000;

/** Lines of a file that cannot be shown. */
class ExcerptRefused extends AppError {
  constructor(
    readonly code: "file_not_found" | "file_not_shown",
    message: string,
    cause?: unknown,
  ) {
    super(message, { cause });
  }
}

/** Of errors that a name alone causes, the system's text would not say much to somebody in a browser. */
const NOT_FILES: Readonly<Record<string, string>> = {
  EISDIR: "it is a folder.",
  ENOTDIR: "a part of its path is a file.",
  ELOOP: "it is a link that leads back to itself.",
  ENAMETOOLONG: "its name is too long.",
};

interface ExcerptReader {
  readonly settings: ThreadSettings;
  readonly reach: Reach | undefined;
  readonly host: HostEnvironment;
}

/**
 * Reads lines of a file in a thread's folder, for a client that shows the thread. Files elsewhere are refused, even if the thread's
 * commands could read them: a caller who may only watch must not choose what is read on this machine. Throws `AppError`.
 */
export async function readExcerpt(asked: AskedLines, { settings, reach, host }: ExcerptReader): Promise<FileExcerpt> {
  const workspace = host.workspaceOf(settings.cwd);
  const file = path.resolve(settings.cwd, asked.file);
  const files = new ThreadFiles(settings, host, { running: { reach }, workspace });
  const mayRead = (realPath: string) => isInside(realPath, workspace) && files.mayReadUnasked(realPath);
  try {
    const { bytes, isCut } = await readGuarded(file, { ...LIMIT, mayRead });
    const name = path.relative(settings.cwd, file);
    return { path: name === "" || name.startsWith("..") ? file : name, ...excerptOf(bytes, { ...asked, isCut }) };
  } catch (error) {
    if (error instanceof ExcerptRefused) throw error;
    const code = errorCode(error) ?? "";
    if (code === "ENOENT") throw new ExcerptRefused("file_not_found", `There is no file ${file}.`, error);
    throw new ExcerptRefused("file_not_shown", `The file ${file} is not shown: ${NOT_FILES[code] ?? describe(error)}`, error);
  } finally {
    files.close();
  }
}

function excerptOf(bytes: Buffer, { file, first, last, isCut }: AskedLines & { readonly isCut: boolean }): Omit<FileExcerpt, "path"> {
  if (bytes.includes(0)) throw new ExcerptRefused("file_not_shown", `The file ${file} is not shown: it is not a text file.`);
  const all = new TextDecoder().decode(bytes).split(/\r?\n/);
  // After the last line break there is no further line or, in a truncated file, an incomplete one.
  if (isCut || all.at(-1) === "") all.pop();
  if (isCut && last > all.length)
    throw new ExcerptRefused(
      "file_not_shown",
      `These lines of ${file} are not shown: only the first ${LIMIT.maxBytes} bytes of a file are read.`,
    );
  // A file that has become shorter is shown at its end.
  const from = Math.max(1, Math.min(first - LINES_AROUND, all.length - 2 * LINES_AROUND));
  const wanted = all.slice(from - 1, Math.max(last, first) + LINES_AROUND);
  const lines = wanted.slice(0, MOST_LINES).map((line) => line.slice(0, LONGEST_LINE));
  const isShort = wanted.length > MOST_LINES || wanted.some((line) => line.length > LONGEST_LINE);
  return { firstLine: from, lines, totalLines: isCut ? undefined : all.length, isCut: isShort };
}
