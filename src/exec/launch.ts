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
 * What ends together with the program. In a PID namespace: everything the command ever started. In a process group: only what stayed in it;
 * the rest must be found by a variable in its environment.
 */
export type Containment = { readonly kind: "namespace" } | { readonly kind: "group"; readonly mark: string };

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
  /** Turns the sandbox program's error output into an error when the command never ran. */
  readonly explain: (stderr: string) => Error;
}

export interface SandboxStatus {
  /** The first process of the namespace, as a pid outside it: nothing in the namespace outlives it. */
  readonly firstProcess: number | undefined;
  readonly ran: boolean;
}
