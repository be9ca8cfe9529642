import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface, type Interface } from "node:readline";

export interface WriterStart {
  readonly program: string;
  readonly codexHome: string;
  readonly threadId: string;
  /** The largest file that the process may write, in KiB. */
  readonly fileLimitKiB?: number;
}

/** Another real process with its own store, controlled by the test. */
export class WriterProcess implements AsyncDisposable {
  readonly #child: ChildProcess;
  readonly #answers: AsyncIterator<string>;
  readonly #lines: Interface;

  constructor({ program, codexHome, threadId, fileLimitKiB }: WriterStart) {
    const node = [process.execPath, program, codexHome, threadId];
    const argv = fileLimitKiB === undefined ? node : ["bash", "-c", `ulimit -f ${fileLimitKiB}; exec "$@"`, "bash", ...node];
    this.#child = spawn(argv[0] ?? "", argv.slice(1), { stdio: ["pipe", "pipe", "inherit"] });
    if (!this.#child.stdout) throw new Error("the writer has no stdout");
    this.#lines = createInterface({ input: this.#child.stdout });
    this.#answers = this.#lines[Symbol.asyncIterator]();
  }

  get pid(): number | undefined {
    return this.#child.pid;
  }

  async tell(command: string): Promise<unknown> {
    this.#child.stdin?.write(`${command}\n`);
    const { value, done } = await this.#answers.next();
    if (done) throw new Error(`the writer ended instead of answering "${command}"`);
    return JSON.parse(value);
  }

  /** Ends as a server does whose client has left. */
  async end(): Promise<void> {
    this.#child.stdin?.end();
    if (this.#child.exitCode === null && this.#child.signalCode === null) await once(this.#child, "exit");
  }

  async kill(): Promise<void> {
    this.#child.kill("SIGKILL");
    if (this.#child.exitCode === null && this.#child.signalCode === null) await once(this.#child, "exit");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.kill();
    this.#lines.close();
  }
}
