/** How one program is started so that the sandbox around its command is in force. Made by a Sandbox, used once by `runCommand`. */
export interface Launch {
  readonly program: string;
  readonly args: readonly string[];
  readonly cwd: string;
  /** Of the program that is started; a sandbox program gets none and hands the command's own over inside. */
  readonly env: Readonly<Record<string, string>>;
  /** What the program finds on its descriptors 3, 4, … */
  readonly descriptors: readonly Descriptor[];
  readonly containment: Containment;
  /** Set when the program is a sandbox around the command and not the command itself. */
  readonly sandbox?: SandboxReport;
  /** Watches the command while it runs, until the release; `stop` ends it, and says why in its output. */
  readonly supervise?: (tree: ProcessTree, stop: (why: string) => void) => void;
  /** Undoes what was prepared, when nothing of the command lives any more; a second call does nothing. Returns what the user should know. */
  release(): readonly string[];
}

export type Descriptor =
  | { readonly kind: "bytes"; readonly bytes: Buffer }
  | { readonly kind: "open"; readonly fd: number }
  | { readonly kind: "status" };

/**
 * What ends together with the program. In a PID namespace everything the command ever started; in a group only what stayed
 * in it, so that the rest must be found by a variable in its environment.
 */
export type Containment = { readonly kind: "namespace" } | { readonly kind: "group"; readonly mark: string };

/** A program that runs, with everything it started. */
export interface ProcessTree {
  readonly pid: number;
  readonly containment: Containment;
  /** The first process of its namespace, once that is known: nothing in there outlives it. */
  firstProcess(): number | undefined;
  /** Settles when the outermost process has ended. */
  readonly exitCode: Promise<number>;
}

export interface SandboxReport {
  /** Reads what came on the status descriptor. */
  readonly readStatus: (report: string) => SandboxStatus;
  /** What the sandbox program's own complaint means when the command never ran. */
  readonly explain: (stderr: string) => Error;
}

export interface SandboxStatus {
  /** The first process of the namespace, by its number out here: nothing in there outlives it. */
  readonly firstProcess: number | undefined;
  readonly ran: boolean;
}
