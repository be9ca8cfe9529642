import path from "node:path";
import { LoginEnvironments } from "../../../exec/loginEnvironment.js";
import { type BashParser, openBashParser } from "../../../exec/safety/bash.js";
import { openSandbox, type Sandbox } from "../../../exec/sandbox/backend.js";

export interface MachineOptions {
  readonly codexHome: string;
  readonly env: NodeJS.ProcessEnv;
  /** Where the server was started: programs in there are not trusted to be a sandbox. */
  readonly serverCwd: string;
  /** A bubblewrap to use instead of the one that is found. */
  readonly sandboxBin?: string;
}

/** What all threads of a process share to run commands: the sandbox that works here, a reader of bash, login environments. */
export class Machine {
  readonly env: NodeJS.ProcessEnv;
  readonly codexHome: string;
  readonly logins = new LoginEnvironments();
  readonly #options: MachineOptions;
  #sandbox: Promise<Sandbox> | undefined;

  constructor(options: MachineOptions) {
    this.#options = options;
    this.env = options.env;
    this.codexHome = options.codexHome;
  }

  /** Tried out once, when first needed. */
  sandbox(): Promise<Sandbox> {
    const { codexHome, env, serverCwd, sandboxBin } = this.#options;
    this.#sandbox ??= openSandbox({
      env,
      workspace: serverCwd,
      hidden: [path.join(codexHome, "auth.json"), path.join(codexHome, "log")],
      ...(sandboxBin === undefined ? {} : { bin: sandboxBin }),
    });
    return this.#sandbox;
  }

  /** Clears away what the sandbox left lying for the next command. */
  async close(): Promise<void> {
    (await this.#sandbox)?.close();
  }

  bashParser(): Promise<BashParser> {
    return openBashParser();
  }
}
