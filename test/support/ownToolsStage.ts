import { ThreadAccess } from "../../src/agent/access.js";
import type { Caller, Principal, Scope } from "../../src/agent/caller.js";
import { ApprovalDesk } from "../../src/approvals/desk.js";
import type { Call } from "../../src/mcp/call.js";
import type { Agent } from "../../src/mcp/tools/agent.js";
import { ownTools } from "../../src/mcp/tools/own/ownTools.js";
import type { CallToolResult } from "../../src/mcp/wording/callResult.js";
import type { ThreadSettings } from "../../src/threads/settings.js";
import { ThreadRegistry } from "../../src/threads/threadRegistry.js";
import { MemoryServices } from "./memoryServices.js";
import { MemoryOwners, MemoryStore, ObedientEngine } from "./memoryThreads.js";
import { settingsIn } from "./rollouts.js";

/** Our tools on threads, owners and services in memory. */
export class OwnToolsStage implements AsyncDisposable {
  readonly services = new MemoryServices();
  readonly owners = new MemoryOwners();
  readonly threads: ThreadRegistry;
  readonly agent: Agent;
  readonly #tools: ReturnType<typeof ownTools>;

  constructor({ settings = settingsIn("/repo"), ...parts }: Partial<Agent> & { readonly settings?: ThreadSettings } = {}) {
    const desk = new ApprovalDesk();
    this.threads = new ThreadRegistry({
      engine: new ObedientEngine(),
      store: new MemoryStore(),
      desk,
      settingsOf: () => settings,
      idleMs: 60_000,
    });
    this.agent = {
      engineName: "memory",
      services: async () => this.services,
      threads: this.threads,
      approvals: { desk, fallback: "deny" },
      access: new ThreadAccess({ owners: this.owners, sharesUnowned: () => false, report: () => {} }),
      settingsFor: ({ cwd = settings.cwd }) => ({ ...settings, cwd }),
      checkCommand: async () => {},
      limitsOf: () => undefined,
      ...parts,
    };
    this.#tools = ownTools(this.agent);
  }

  /** The answer of a tool that is no turn. */
  async call(tool: string, args: unknown, { caller, signal = new AbortController().signal }: Partial<Call> = {}): Promise<CallToolResult> {
    const action = this.#tools.get(tool);
    if (!action) throw new Error(`no tool ${tool}`);
    const answer = await action(args, callOf(caller, signal));
    if ("turn" in answer) throw new Error("a turn was begun");
    return answer;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.threads.interruptAll();
    await this.threads.settle();
    await this.threads.close();
  }
}

export function callerNamed(principal: string, options: { readonly scopes?: readonly Scope[] } = {}): Caller {
  return { principal: principal as Principal, scopes: options.scopes ?? ["call", "read"] };
}

function callOf(caller: Caller | undefined, signal: AbortSignal): Call {
  const peer = {
    notify: () => {},
    notifyText: () => {},
    congested: () => undefined,
    request: () => Promise.reject(new Error("not asked")),
  };
  return { requestId: 1, signal, caller, progressToken: undefined, logLevel: () => undefined, peer, canElicit: false, revision: undefined };
}
