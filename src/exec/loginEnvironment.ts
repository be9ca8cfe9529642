import path from "node:path";
import type { CommandEnvironment } from "./environment.js";
import { COMMAND_MARK } from "./killTree.js";
import type { Launch } from "./launch.js";
import { runCommand } from "./run.js";

export interface LoginShell {
  readonly shell: string;
  /** What a login starts from. */
  readonly env: CommandEnvironment;
  /** Whoever sees other files may have another profile. */
  readonly seenBy: string;
  /** A profile is a program: where a sandboxed command may have written it, it must not run outside the sandbox. */
  readonly wrap: (argv: readonly string[], env: CommandEnvironment) => Launch;
}

const LOGIN_MS = 5_000;
const MOST_REMEMBERED = 16;
/** Belong to the shell that printed them, and to its run. */
const OF_THE_SHELL_ITSELF = ["_", "SHLVL", "PWD", "OLDPWD", COMMAND_MARK];
const SHELLS = new Set(["bash", "zsh", "sh", "dash", "ksh"]);

/**
 * What login shells add to the environment, found out once: then each command can run in a shell that reads no profile, which
 * saves from 2 to over 100 ms per command. What a profile does beside its environment (functions, `umask`) is lost.
 */
export class LoginEnvironments {
  readonly #known = new Map<string, Promise<CommandEnvironment | undefined>>();

  /** Undefined when it cannot be learned; then the command must run in a login shell itself. */
  of(login: LoginShell): Promise<CommandEnvironment | undefined> {
    const key = JSON.stringify([login.shell, login.seenBy, login.env]);
    const known = this.#known.get(key) ?? ask(login);
    this.#known.delete(key);
    this.#known.set(key, known);
    for (const oldest of this.#known.keys()) if (this.#known.size > MOST_REMEMBERED) this.#known.delete(oldest);
    return known;
  }
}

async function ask({ shell, env, wrap }: LoginShell): Promise<CommandEnvironment | undefined> {
  if (!SHELLS.has(path.basename(shell))) return undefined;
  const mark = "--environment follows--";
  try {
    const { exitCode, stdout, ended } = await runCommand(wrap([shell, "-lc", `printf '%s' '${mark}'; exec env -0`], env), {
      timeoutMs: LOGIN_MS,
    }).result;
    const start = stdout.lastIndexOf(mark);
    if (ended !== "exited" || exitCode !== 0 || start < 0) return undefined;
    return adopt(env, stdout.slice(start + mark.length));
  } catch {
    return undefined;
  }
}

function adopt(before: CommandEnvironment, printed: string): CommandEnvironment {
  const entries = printed.split("\0").flatMap((entry): [string, string][] => {
    const equals = entry.indexOf("=");
    return equals > 0 ? [[entry.slice(0, equals), entry.slice(equals + 1)]] : [];
  });
  const own = OF_THE_SHELL_ITSELF.flatMap((name): [string, string][] => (before[name] === undefined ? [] : [[name, before[name]]]));
  return Object.fromEntries([...entries.filter(([name]) => !OF_THE_SHELL_ITSELF.includes(name)), ...own]);
}
