import { commandEnvironment, type Environment, withoutSecrets } from "../../../exec/environment.js";
import { RootRefused } from "../../../exec/errors.js";
import type { Launch } from "../../../exec/launch.js";
import type { TruncationPolicy } from "../../../exec/modelOutput.js";
import { TurnDiff } from "../../../exec/patch/turnDiff.js";
import { loadRules } from "../../../exec/safety/rules.js";
import { ThreadRules } from "../../../exec/safety/threadRules.js";
import { enforceableRoots } from "../../../exec/sandbox/enforceableRoots.js";
import { allowsNetwork, mayWrite, writableRoots } from "../../../exec/sandbox/policy.js";
import { ExecSessions } from "../../../exec/session.js";
import type { TurnContext } from "../../../threads/engine.js";
import type { ModelProvider, SandboxPolicy, ThreadSettings } from "../../../threads/model.js";
import type { AskElicitation, McpAnswer } from "../mcpServers/questions.js";
import { traitsOf } from "../models.js";
import type { Machine } from "./machine.js";

const FULL_ACCESS: SandboxPolicy = { type: "danger-full-access" };

/** Where one thread's tools work: its settings, what was allowed on it, and what its turn has changed so far. */
export class Workbench {
  readonly rules: ThreadRules;
  /** Commands and files that were approved for the rest of the thread. */
  readonly approved = new Set<string>();
  readonly sessions = new ExecSessions();
  #turnDiff = new TurnDiff();
  #ask: TurnContext["ask"] | undefined;

  constructor(
    readonly settings: ThreadSettings,
    readonly machine: Machine,
  ) {
    this.rules = new ThreadRules(() => (settings.features["exec_policy"] === false ? [] : loadRules(machine.codexHome).rules));
  }

  /** What the running turn's patches changed. */
  get turnDiff(): TurnDiff {
    return this.#turnDiff;
  }

  beginTurn(ask: TurnContext["ask"]): void {
    this.#turnDiff = new TurnDiff();
    this.#ask = ask;
  }

  endTurn(): void {
    this.#ask = undefined;
  }

  /** A question of one of the agent's MCP servers, put to whoever follows the turn. Without one, or under `never`, it is declined. */
  readonly fillIn: AskElicitation = async ({ server, message, requestedSchema }, { signal }) => {
    if (!this.#ask || this.settings.approvalPolicy === "never") return { action: "decline" };
    const form = { kind: "form" as const, callId: "", server, message, requestedSchema };
    const decision = await this.#ask({ ...form, staysInSandbox: false, needsPerson: true }, signal);
    if (decision.kind === "answered") return { action: "accept", content: decision.content as McpContent };
    return { action: decision.kind === "abort" ? "cancel" : "decline" };
  };

  /** A broken rules file turns all rules off; whoever started the thread should know. */
  ruleWarnings(): readonly string[] {
    return loadRules(this.machine.codexHome).warnings;
  }

  get truncation(): TruncationPolicy {
    const { toolOutputTokenLimit, model } = this.settings;
    return toolOutputTokenLimit === undefined ? traitsOf(model).truncation : { unit: "tokens", limit: toolOutputTokenLimit };
  }

  /** Whether a patch may write there, by the rules that hold for commands. Asked about real paths. */
  readonly mayWrite = (realPath: string): boolean => {
    const { sandboxPolicy, cwd } = this.settings;
    try {
      return mayWrite(enforceableRoots(writableRoots(sandboxPolicy, { workspace: cwd, env: this.machine.env })), realPath);
    } catch (error) {
      // Where no command would run, nothing may be written without a question either.
      if (error instanceof RootRefused) return false;
      throw error;
    }
  };

  /** What confines this thread's commands. Full access needs nothing, so nothing is tried out for it. */
  async sandboxBackend(): Promise<string> {
    return this.settings.sandboxPolicy.type === "danger-full-access" ? "none" : (await this.machine.sandbox()).backend;
  }

  async isSandboxEnforced(): Promise<boolean> {
    return (await this.machine.sandbox()).backend !== "none";
  }

  /** A command ready to start, inside the thread's sandbox or, once that was decided, outside. */
  async launch(argv: readonly string[], { cwd, sandboxed, plainOutput = false }: LaunchOptions): Promise<Launch> {
    const sandbox = await this.machine.sandbox();
    const { sandboxPolicy, cwd: workspace } = this.settings;
    const policy = sandboxed ? sandboxPolicy : FULL_ACCESS;
    const env = this.#environment(sandbox.backend, plainOutput);
    const wrap = (words: readonly string[], environment: Environment) => sandbox.wrap(words, { policy, workspace, cwd, env: environment });
    const login = isLoginShell(argv) ? await this.machine.logins.of({ shell: argv[0], env, wrap }) : undefined;
    if (login === undefined) return wrap(argv, env);
    // A profile may export the very keys that were kept from it.
    return wrap([argv[0] ?? "", "-c", ...argv.slice(2)], withoutSecrets(login, secretVariables(this.settings.provider)));
  }

  #environment(sandbox: "bubblewrap" | "seatbelt" | "none", plainOutput: boolean): Environment {
    const { shellEnvironment, sandboxPolicy, provider } = this.settings;
    return commandEnvironment(shellEnvironment, this.machine.env, {
      secrets: secretVariables(provider),
      network: allowsNetwork(sandboxPolicy),
      sandbox,
      plainOutput,
    });
  }
}

export interface LaunchOptions {
  readonly cwd: string;
  readonly sandboxed: boolean;
  readonly plainOutput?: boolean;
}

/** What a client filled in goes on as it is: the server that asked checks it against its own schema. */
type McpContent = Extract<McpAnswer, { action: "accept" }>["content"];

/** The keys of the provider in use are ours, not the commands'. */
function secretVariables({ envKey, envHttpHeaders }: ModelProvider): string[] {
  return ["OPENAI_API_KEY", "CODEX_API_KEY", ...(envKey === undefined ? [] : [envKey]), ...Object.values(envHttpHeaders)];
}

function isLoginShell(argv: readonly string[]): argv is readonly [string, "-lc", string] {
  return argv.length === 3 && argv[1] === "-lc";
}
