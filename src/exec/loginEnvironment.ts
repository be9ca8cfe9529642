import path from "node:path";
import { COMMAND_MARK } from "./commandMark.js";
import type { CommandEnvironment } from "./environment.js";
import type { Launch } from "./launch.js";
import { runCommand } from "./run.js";

export interface LoginShell {
  readonly shell: string;
  /** The environment the login shell starts with. */
  readonly env: CommandEnvironment;
  /** Identifies the view of files: another view may contain another profile. */
  readonly seenBy: string;
  /** A profile is a program: a sandboxed command may have written it, so it must run inside the sandbox. */
  readonly wrap: (argv: readonly string[], env: CommandEnvironment) => Launch;
}

/**
 * The result of a login shell. `failed`: the profile exits the shell, fails or takes too long, so a command in such a shell would never
 * run. `unknown`: the program is not a supported shell, or could not be started.
 */
export type LoginShellRun =
  | { readonly kind: "known"; readonly env: CommandEnvironment; readonly ms: number }
  | { readonly kind: "failed"; readonly why: string; readonly ms: number }
  | { readonly kind: "unknown" };

/** How long a profile may take before commands run without it. */
const LOGIN_MS = 5_000;
const MOST_REMEMBERED = 16;
/** A failed profile is tried again after this time: its owner may have fixed it. */
const TRIED_AGAIN_MS = 10 * 60_000;
/** Variables that describe the shell itself and its run. */
const OF_THE_SHELL_ITSELF = ["_", "SHLVL", "PWD", "OLDPWD", COMMAND_MARK];
const SHELLS = new Set(["bash", "zsh", "sh", "dash", "ksh"]);

/**
 * Caches what login shells add to the environment. Each command can then run in a shell that reads no profile, which saves from 2 to over
 * 100 ms per command. Other effects of a profile (functions, `umask`) are lost.
 */
export class LoginEnvironments {
  readonly #known = new Map<string, Promise<LoginShellRun>>();
  readonly #failedAt = new Map<string, number>();
  readonly #now: () => number;

  constructor({ now = Date.now }: { readonly now?: () => number } = {}) {
    this.#now = now;
  }

  /** The result of an earlier run. Undefined when the profile has not run yet, or is to be tried again. Starts nothing. */
  known(login: LoginShell): Promise<LoginShellRun> | undefined {
    return this.#remembered(keyOf(login));
  }

  of(login: LoginShell): Promise<LoginShellRun> {
    const key = keyOf(login);
    const known = this.#remembered(key) ?? this.#ask(key, login);
    this.#known.delete(key);
    this.#known.set(key, known);
    for (const oldest of this.#known.keys()) if (this.#known.size > MOST_REMEMBERED) this.#forget(oldest);
    return known;
  }

  #remembered(key: string): Promise<LoginShellRun> | undefined {
    if (this.#now() - (this.#failedAt.get(key) ?? this.#now()) >= TRIED_AGAIN_MS) this.#forget(key);
    return this.#known.get(key);
  }

  async #ask(key: string, shell: LoginShell): Promise<LoginShellRun> {
    const login = await askLogin(shell);
    if (login.kind === "failed") this.#failedAt.set(key, this.#now());
    if (login.kind === "unknown") this.#forget(key);
    return login;
  }

  #forget(key: string): void {
    this.#known.delete(key);
    this.#failedAt.delete(key);
  }
}

function keyOf({ shell, seenBy, env }: LoginShell): string {
  return JSON.stringify([shell, seenBy, env]);
}

/** Runs the profile once. Never throws. */
export async function askLogin({ shell, env, wrap }: Omit<LoginShell, "seenBy">): Promise<LoginShellRun> {
  if (!SHELLS.has(path.basename(shell))) return { kind: "unknown" };
  const mark = "--environment follows--";
  const startedAt = performance.now();
  const failed = (why: string): LoginShellRun => ({ kind: "failed", why, ms: performance.now() - startedAt });
  try {
    const { exitCode, stdout, ended } = await runCommand(wrap([shell, "-lc", `printf '%s' '${mark}'; exec env -0`], env), {
      timeoutMs: LOGIN_MS,
    }).result;
    const start = stdout.lastIndexOf(mark);
    if (ended === "timedOut") return failed(`it takes longer than ${LOGIN_MS / 1_000} seconds`);
    if (ended !== "exited" || exitCode !== 0) return failed(`it ends with exit code ${exitCode}`);
    if (start < 0) return failed("it ends the shell before a command runs");
    return { kind: "known", env: adopt(env, stdout.slice(start + mark.length)), ms: performance.now() - startedAt };
  } catch {
    // The shell did not run at all. The command will not run either, and its own error says why.
    return { kind: "unknown" };
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

export function isLoginShell(argv: readonly string[]): argv is readonly [string, "-lc", string] {
  return argv.length === 3 && argv[1] === "-lc";
}

/** The warning that commands run without the login profile. */
export function profileWarning(shell: string, why: string): string {
  return (
    `The login profile of ${shell} cannot be used: ${why}. Commands run in a plain shell with the server's own environment; ` +
    "what the profile sets, PATH among it, is missing. Fix the profile; `codex-mcp-server doctor` measures it."
  );
}
