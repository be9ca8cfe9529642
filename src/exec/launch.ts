import { setImmediate as loopTurn } from "node:timers/promises";

/** How to start a program so that the sandbox around its command is in force. Created by a Sandbox, used once by `runCommand`. */
export interface Launch {
  readonly program: string;
  readonly args: readonly string[];
  readonly cwd: string;
  /** The environment of the started program; a sandbox program gets an empty one and passes the command's environment on inside. */
  readonly env: Readonly<Record<string, string>>;
  /** The program's descriptors 3, 4, … */
  readonly descriptors: readonly Descriptor[];
  readonly containment: Containment;
  /** Present when the program is a sandbox around the command, not the command itself. */
  readonly sandbox?: SandboxReport;
  /** Prepares the same sandbox once more, because it could not be set up: something moved a folder meanwhile. */
  readonly again?: () => Launch;
  /** Watches the running command until `release`; `stop` ends it and adds the reason to its output. */
  readonly supervise?: (tree: ProcessTree, stop: (why: string) => void) => void;
  /** Undoes the preparations once no process of the command is left; a second call does nothing. Returns messages for the user. */
  release(): readonly string[];
}

export type Descriptor =
  | { readonly kind: "bytes"; readonly bytes: Buffer }
  | { readonly kind: "open"; readonly fd: number }
  | { readonly kind: "status" };

/**
 * What ends together with the program. In a PID namespace: everything the command ever started. In a process group: only what stayed in it.
 * The rest is found by the mark in its environment. So is what remains of a sandbox whose program was killed before the namespace was ready.
 */
export interface Containment {
  readonly kind: "namespace" | "group";
  /** See `markEntry`. */
  readonly mark: string;
}

/** A running program with everything it started. */
export interface ProcessTree {
  readonly pid: number;
  readonly containment: Containment;
  /** The first process of its namespace, once known: nothing in the namespace outlives it. */
  firstProcess(): number | undefined;
  /** Settles when the outermost process has ended. */
  readonly exitCode: Promise<number>;
}

export interface SandboxReport {
  /** Parses the text from the status descriptor. */
  readonly readStatus: (report: string) => SandboxStatus;
  /** What the sandbox program's own error begins with; it is a single line. */
  readonly complaint: string;
  /** Turns the sandbox program's error output into an error when the command never ran. */
  readonly explain: (stderr: string) => Error;
}

export interface SandboxStatus {
  /** The first process of the namespace, as a pid outside it: nothing in the namespace outlives it. */
  readonly firstProcess: number | undefined;
  readonly ran: boolean;
}

export interface Permitted {
  readonly sandboxed: boolean;
}

interface Launches {
  readonly now: (how: Permitted) => Promise<Launch>;
  /** Runs nothing. Undefined when something has to run first, such as the profile of a login shell. */
  readonly ahead: (how: Permitted) => Promise<Launch | undefined>;
}

/**
 * Makes the launch of a command when the command is to start, or ahead: while the command's announcement is written to disk. Setting up a
 * sandbox takes about as long as that write. A launch that was made ahead and not used is released.
 */
export class CommandStarter implements AsyncDisposable {
  readonly #launches: Launches;
  #ahead: (Permitted & { readonly launch: Promise<Launch | undefined> }) | undefined;

  constructor(launches: Launches) {
    this.#launches = launches;
  }

  /** Makes the launch ahead, once `after` has resolved. Runs nothing. */
  prepare({ sandboxed }: Permitted, { after }: { readonly after: (() => Promise<void>) | undefined }): void {
    // Waits one turn of the event loop, in which writing the announcement begins.
    const launch = loopTurn()
      .then(after)
      .then(() => this.#launches.ahead({ sandboxed }));
    // Awaited by `launch` or at disposal; a failure until then must not count as unhandled.
    launch.catch(() => undefined);
    this.#ahead = { sandboxed, launch };
  }

  async launch({ sandboxed }: Permitted): Promise<Launch> {
    const ahead = this.#ahead?.sandboxed === sandboxed ? this.#ahead : undefined;
    if (ahead) this.#ahead = undefined;
    return (await ahead?.launch) ?? this.#launches.now({ sandboxed });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const launch = await this.#ahead?.launch.catch(() => undefined);
    launch?.release();
  }
}
