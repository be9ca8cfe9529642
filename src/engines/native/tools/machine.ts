import path from "node:path";
import type { LoginEnvironments } from "../../../exec/loginEnvironment.js";
import type { WritablePlaces } from "../../../exec/outside/writablePlaces.js";
import type { Sandbox } from "../../../exec/sandbox/backend.js";
import type { SandboxPolicy } from "../../../threads/model.js";

export interface MachineOptions {
  readonly codexHome: string;
  readonly env: NodeJS.ProcessEnv;
  readonly serverCwd: string;
  /** Programs in there are not trusted to be a sandbox. */
  readonly writable: WritablePlaces;
  /** A bubblewrap to use instead of the one that is found. */
  readonly sandboxBin?: string;
  /** Files of the server that no command may read. */
  readonly secretFiles?: readonly string[];
}

/** What all threads of a process share to run commands: the sandbox that works here, and login environments. Each is loaded when first needed. */
export class Machine {
  readonly env: NodeJS.ProcessEnv;
  readonly codexHome: string;
  readonly #options: MachineOptions;
  #sandbox: Promise<Sandbox> | undefined;
  #logins: LoginEnvironments | undefined;

  constructor(options: MachineOptions) {
    this.#options = options;
    this.env = options.env;
    this.codexHome = options.codexHome;
  }

  /** Tried out once, when first needed. */
  sandbox(): Promise<Sandbox> {
    this.#sandbox ??= this.#openSandbox();
    return this.#sandbox;
  }

  /** What confines commands under a policy. Full access needs nothing, so nothing is tried out for it. */
  async sandboxBackend({ type }: SandboxPolicy): Promise<string> {
    return type === "danger-full-access" ? "none" : (await this.sandbox()).backend;
  }

  async logins(): Promise<LoginEnvironments> {
    const { LoginEnvironments } = await import("../../../exec/loginEnvironment.js");
    this.#logins ??= new LoginEnvironments();
    return this.#logins;
  }

  /** Clears away what the sandbox left lying for the next command. */
  async close(): Promise<void> {
    (await this.#sandbox)?.close();
  }

  async #openSandbox(): Promise<Sandbox> {
    const { codexHome, env, serverCwd, writable, sandboxBin, secretFiles = [] } = this.#options;
    const { openSandbox } = await import("../../../exec/sandbox/backend.js");
    return openSandbox({
      env,
      writable,
      hidden: [path.join(codexHome, "auth.json"), path.join(codexHome, "log"), ...secretFiles.map((file) => path.resolve(serverCwd, file))],
      ...(sandboxBin === undefined ? {} : { bin: sandboxBin }),
    });
  }
}
