import { ThreadAccess } from "../../../src/agent/access.js";
import { Agent, type AgentParts } from "../../../src/agent/agent.js";
import { Attendance } from "../../../src/agent/attendance.js";
import type { Caller, Principal, Scope } from "../../../src/agent/caller.js";
import { callersInside } from "../../../src/agent/caller.js";
import { Feed } from "../../../src/agent/feed.js";
import { NamedSessions } from "../../../src/agent/namedSessions.js";
import { Patience } from "../../../src/agent/patience.js";
import { type ApprovalDesk, MemoryApprovalDesk } from "../../../src/approvals/desk.js";
import { UNKNOWN_CLIENT } from "../../../src/mcp/clientProfiles.js";
import { toolsOf } from "../../../src/mcp/tools/sets.js";
import { type OpenedAgent, Tools } from "../../../src/mcp/tools/tools.js";
import type { CallToolResult } from "../../../src/mcp/wording/callResult.js";
import type { Call } from "../../../src/mcp/wording/turnView.js";
import { NO_TELEMETRY } from "../../../src/observability/telemetry.js";
import type { Engine } from "../../../src/threads/engine.js";
import type { TurnLimits } from "../../../src/threads/limits.js";
import type { ThreadSettings } from "../../../src/threads/settings.js";
import type { ThreadStore } from "../../../src/threads/store.js";
import { ThreadRegistry } from "../../../src/threads/threadRegistry.js";
import { settingsIn } from "../threads/rollouts.js";
import { MemoryCatalog, MemoryServices } from "./memoryServices.js";
import { MemoryOwners, MemorySessionStore, MemoryStore, ObedientEngine } from "./memoryThreads.js";

export interface StageOptions extends Partial<Pick<AgentParts, "checkCommand" | "objection" | "limiter" | "approvalFallback">> {
  readonly settings?: ThreadSettings;
  /** The engine runs turns and nothing else. */
  readonly withoutServices?: boolean;
  readonly engine?: Engine;
  readonly desk?: ApprovalDesk;
  readonly store?: ThreadStore;
  readonly limitsOf?: (caller: Caller) => TurnLimits;
  /** As `mcp_server.result_tokens`. */
  readonly resultTokens?: number;
}

const NO_LIMITS: TurnLimits = { check: () => {}, confinement: undefined, reach: { folders: undefined } };

/** The real agent and its tools on threads, owners and services in memory. */
export class OwnToolsStage implements AsyncDisposable {
  readonly services = new MemoryServices();
  /** The threads that the engine keeps. */
  readonly catalog = new MemoryCatalog();
  readonly owners = new MemoryOwners();
  readonly desk: ApprovalDesk;
  readonly threads: ThreadRegistry;
  readonly agent: Agent;
  readonly sessions: NamedSessions;
  readonly #tools: Tools;

  constructor({
    settings = settingsIn("/repo"),
    withoutServices = false,
    engine: given,
    desk = new MemoryApprovalDesk(),
    store = new MemoryStore(),
    limitsOf = () => NO_LIMITS,
    resultTokens,
    ...parts
  }: StageOptions = {}) {
    this.desk = desk;
    const feed = new Feed();
    const turns = new ObedientEngine();
    const engine: Engine =
      given ?? (withoutServices ? turns : Object.assign(turns, { services: async () => this.services, catalog: async () => this.catalog }));
    const threads = { engine, store, desk: this.desk, settingsOf: () => settings, idleMs: 60_000, observer: feed };
    this.threads = new ThreadRegistry(threads);
    this.agent = new Agent({
      engine,
      threads: this.threads,
      desk: this.desk,
      feed,
      access: new ThreadAccess({ owners: this.owners, isAttended: () => true, sharesUnowned: () => false, report: () => {} }),
      cursorKey: async () => Buffer.alloc(32),
      attendance: new Attendance({ unattendedMs: 900_000, report: () => {} }),
      patience: new Patience(),
      ceilings: () => ({ limitsOf, checkConfig: () => {} }),
      approvalFallback: "deny",
      settings: {
        forNewThread: ({ cwd = settings.cwd }) => ({ ...settings, cwd }),
        withChanges: (kept) => kept,
        withSandbox: (kept) => kept,
      },
      userConfig: { read: async () => ({}), setDefaultModel: async () => {} },
      checkCommand: async () => {},
      objection: callersInside,
      ...parts,
    });
    this.sessions = new NamedSessions({
      agent: this.agent,
      store: new MemorySessionStore(),
      limit: 100,
      ttlMs: 86_400_000,
      report: () => {},
    });
    const { objection = callersInside } = parts;
    this.#tools = new Tools({
      tools: toolsOf(["codex", "extras"]),
      objection,
      resultTokens,
      open: async () => this.opened,
    });
  }

  get opened(): OpenedAgent {
    return { agent: this.agent, sessions: this.sessions, telemetry: NO_TELEMETRY };
  }

  /** The answer of a tool that runs no turn. */
  async call(name: string, args: unknown, { caller, signal = new AbortController().signal }: Partial<Call> = {}): Promise<CallToolResult> {
    const tool = this.#tools.find(name);
    if (!tool) throw new Error(`no tool ${name}`);
    const answer = await this.#tools.call(tool, args, callOf(caller, signal));
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
  return {
    requestId: 1,
    signal,
    caller,
    progressToken: undefined,
    logLevel: () => undefined,
    peer,
    canElicit: false,
    reader: { client: UNKNOWN_CLIENT, takesStructured: true },
  };
}
