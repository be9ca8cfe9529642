import path from "node:path";

const SHELLS = new Set(["bash", "zsh", "sh"]);

/** Where programs live that a command cannot have put there itself. */
const SYSTEM_FOLDERS = new Set([
  "/bin",
  "/sbin",
  "/usr/bin",
  "/usr/sbin",
  "/usr/local/bin",
  "/opt/homebrew/bin",
  "/opt/local/bin",
  "/run/current-system/sw/bin",
]);

/** Shells that are not taken at their word, but whose scripts are looked through for what must not run. */
const OTHER_SHELLS = new Set(["dash", "ash", "ksh", "ksh93", "mksh", "rbash", "yash", "fish"]);

/** The file name of a program, however it is called. */
export function programName(word: string): string {
  return path.posix.basename(word);
}

/** Called by a bare name or out of a system folder: not a file of the workspace that happens to be called `ls`. */
export function isSystemProgram(word: string): boolean {
  return !word.includes("/") || SYSTEM_FOLDERS.has(path.posix.dirname(word));
}

export function isShell(word: string): boolean {
  return SHELLS.has(
    programName(word)
      .toLowerCase()
      .replace(/\.exe$/, ""),
  );
}

/** The script of `[bash|zsh|sh, -lc|-c, script]`, exactly. */
export function shellScript(argv: readonly string[]): string | undefined {
  const [shell, flag, script, ...more] = argv;
  if (shell === undefined || !isShell(shell) || more.length > 0) return undefined;
  return flag === "-lc" || flag === "-c" ? script : undefined;
}

/** The script a shell is given in any form (`-ec`, `--login -c`, words behind it). */
export function anyShellScript(argv: readonly string[]): string | undefined {
  const [shell, ...rest] = argv;
  if (shell === undefined || !(isShell(shell) || OTHER_SHELLS.has(programName(shell)))) return undefined;
  const flag = rest.findIndex((word) => /^-[a-z]*c[a-z]*$/i.test(word));
  return flag < 0 ? undefined : rest[flag + 1];
}
