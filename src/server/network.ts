import type { IncomingMessage } from "node:http";
import type { Agent } from "../agent/agent.js";
import {
  type Caller,
  INSIDE_CALLER,
  isMarked,
  type Objection,
  type Principal,
  SCOPES,
  type Scope,
  type SessionCaller,
} from "../agent/caller.js";
import type { OwnAddress } from "../agent/ownEntries.js";
import { MemoryTurnLimiter, type TurnLimiter } from "../agent/turnLimiter.js";
import type { HttpSettings } from "../config/httpSettings.js";
import type { SettingsResolver } from "../config/resolve.js";
import type { Identity, ScopeWords } from "../http/access/identity.js";
import { describe } from "../lib/errors.js";
import { endsWithin, type Lazy, lazily } from "../lib/promises.js";
import type { HttpConnection, HttpSession, HttpSessions } from "../mcp/over/network/httpSession.js";
import { Session } from "../mcp/sessions/session.js";
import { SessionRegistry } from "../mcp/sessions/sessionRegistry.js";
import type { StatelessServer } from "../mcp/stateless/server.js";
import { toolsOf } from "../mcp/tools/sets.js";
import { Tools } from "../mcp/tools/tools.js";
import type { Metrics } from "../observability/telemetry.js";
import type { OfferedModels } from "../stores/files/offeredModels.js";
import { codexMethods } from "./codexMethods.js";
import { offeredModels } from "./context.js";
import { type HttpContext, severalMayCall } from "./httpContext.js";
import { DeliveryLosses } from "./maintenance.js";
import type { OpenAgent } from "./openAgent.js";
import { ownNesting } from "./ownNesting.js";
import type { Reporting } from "./reporting.js";
import { openStateless } from "./statelessServer.js";

/** How long interrupted turns may take to end, and their leftover processes to be ended. */
const INTERRUPT_MS = 2_500;
const CLEAN_UP_MS = 1_000;

export interface NetworkParts {
  readonly context: HttpContext;
  readonly codexHome: string;
  readonly settings: SettingsResolver;
  readonly http: HttpSettings;
  readonly reporting: Reporting;
  readonly metrics: Metrics;
  /** All folders that single tokens allow. */
  readonly givenRoots: () => readonly string[];
  /** The URL of the console, if it is served. */
  readonly consoleAddress: () => string | undefined;
}

/** Everything behind the port: the clients' sessions, the stateless era, and the one agent that serves them all. */
export class Network {
  readonly #parts: NetworkParts;
  readonly tools: Tools;
  readonly sessions: HttpSessions;
  readonly stateless: StatelessServer;
  readonly turns: TurnLimiter;
  readonly losses: DeliveryLosses;
  readonly #agent: Lazy<OpenAgent>;
  readonly #offered: OfferedModels;
  readonly #objection: Objection;
  readonly #furtherMethods: ReturnType<typeof codexMethods>;
  #address: OwnAddress | undefined;

  constructor(parts: NetworkParts) {
    this.#parts = parts;
    const { context, http, codexHome, reporting } = parts;
    this.turns = new MemoryTurnLimiter(http.turns);
    this.#offered = offeredModels(context.options, { codexHome, settings: parts.settings, report: (line) => reporting.report(line) });
    this.#offered.load();
    this.losses = new DeliveryLosses(parts.metrics);
    this.#agent = lazily(() => this.#openAgent());
    this.#furtherMethods = codexMethods(() => this.#agent.get(), context.env);
    this.#objection = ownNesting({
      env: context.env,
      settings: parts.settings,
      listening: true,
      report: (line) => reporting.report(line),
    }).objection;
    this.tools = new Tools({
      tools: toolsOf(context.options.tools, context.env),
      env: context.env,
      codexHelp: lazily(async () => (await import("./codexHelp.js")).readCodexHelp(context)).get,
      objection: this.#objection,
      emptyForms: parts.settings.serverSettings().emptyApprovalForms,
      consoleAddress: parts.consoleAddress,
      events: parts.settings.serverSettings().events,
      resultTokens: parts.settings.serverSettings().resultTokens,
      modelNames: () => this.#offered.names,
      open: () => this.#agent.get(),
    });
    this.stateless = openStateless({
      codexHome,
      engine: context.options.engine,
      tools: this.tools,
      taskAfterMs: parts.settings.serverSettings().taskAfterMs,
      report: (line) => reporting.report(line),
    });
    this.sessions = new SessionRegistry<HttpConnection>({
      limits: http.sessions,
      openSession: (caller, connection) => this.#openSession(caller, connection),
      ended: (open, reason) => this.#noteEnd(open, reason),
    });
  }

  /** The agent, opened on first use. */
  async agent(): Promise<Agent> {
    return (await this.#agent.get()).agent;
  }

  /**
   * Threads leave out MCP servers that are at this address. The agent is opened now, so that the operator learns of missing requirements at
   * the start.
   */
  listensOn(address: OwnAddress): void {
    this.#address = address;
    this.#agent.warmUp();
  }

  /** Ends subscriptions, and resolves when no request is in progress. */
  async idle(): Promise<void> {
    this.stateless.leave();
    await this.stateless.idle();
    for (const { session } of this.sessions.all()) await session.peer.idle();
  }

  /** Interrupts calls, which still get a response. Then flushes files, and then ends processes that turns left running. */
  async close(): Promise<void> {
    const open = await this.#agent.ifLoaded();
    const why = "the server is shutting down";
    await this.sessions.close(why);
    if (!open) return;
    open.interruptAll(why);
    await endsWithin(INTERRUPT_MS, Promise.all([open.settle(), this.stateless.settle()]));
    // Whatever remains ends with this process, because its namespace does.
    await endsWithin(CLEAN_UP_MS, open.close());
  }

  async #openAgent(): Promise<OpenAgent> {
    const { context, codexHome, settings, reporting, metrics, givenRoots } = this.#parts;
    const { options, env, serverCwd, listen } = context;
    const { openAgent } = await import("./openAgent.js");
    const telemetry = await reporting.telemetry(metrics);
    const report = (line: string) => reporting.report(line);
    const agent = openAgent({
      ...options,
      codexHome,
      env,
      serverCwd,
      settings,
      ceilings: { ...listen, givenRoots },
      objection: this.#objection,
      limiter: this.turns,
      offered: this.#offered,
      isAttended: (session) => this.sessions.isAttended(session),
      // Work of different principals must never meet in a nested server.
      surrounding: "sealed",
      ownAddress: () => this.#address,
      secretFiles: secretFiles(listen),
      listens: true,
      severalCallers: severalMayCall(listen),
      report,
      telemetry,
    });
    metrics.sample({ threadsLoaded: () => agent.threadsLoaded });
    return agent;
  }

  #openSession(caller: SessionCaller, { transport, outbox }: HttpConnection): Session {
    const { context, http, reporting, metrics } = this.#parts;
    const log = reporting.log.target("http").with({ session_id: caller.sessionId });
    metrics.sessionOpened({ transport });
    log.info("session opened", { transport, principal: caller.principal });
    return new Session(outbox, {
      caller,
      tools: this.tools,
      stateless: async () => this.stateless,
      furtherMethods: this.#furtherMethods,
      engine: context.options.engine,
      env: context.env,
      welcomed: () => this.#agent.warmUp(),
      report: (line) => log.warn(line),
      failed: (method, error) => reporting.failed(method, error, { session_id: caller.sessionId }),
      requestsInFlight: http.requestsInFlight,
    });
  }

  #noteEnd({ caller, connection, requests, openedAt }: HttpSession, reason: string): void {
    const log = this.#parts.reporting.log.target("http");
    const { sessionId } = caller;
    const { sent, dropped, disconnected } = connection.outbox.counts;
    // Otherwise the losses since the last count would be missing in the metrics.
    this.losses.count(connection.outbox);
    this.#parts.metrics.sessionClosed({ transport: connection.transport, reason });
    log.info("session ended", { session_id: sessionId, reason, ms: Date.now() - openedAt, requests, sent, dropped, disconnected });
    // From now on the same principal may continue its threads.
    this.#agent.ifLoaded().then(
      (open) => open?.access.sessionEnded(sessionId),
      (error: unknown) => log.error(`a session's threads could not be released: ${describe(error)}`),
    );
  }
}

/** Files that no command of a caller may read. */
export function secretFiles({ tokenFile, tls }: HttpContext["listen"]): string[] {
  return [tokenFile, tls?.key].filter((file) => file !== undefined);
}

/** The scopes that access control uses in token files and assigns to callers. */
export const SCOPE_WORDS: ScopeWords & { readonly all: readonly Scope[] } = {
  all: SCOPES,
  usual: ["call", "read"],
  // All scopes except `operator`.
  ownUser: ["call", "read", "manage"],
  manage: "manage",
  operator: "operator",
};

/**
 * A caller inside a turn always gets this identity, whatever token it has. A turn marks its HTTP requests itself, because a URL may lead
 * back here under any name and through any proxy. For other processes, access control knows whether this server started them.
 */
export function callerOf({ principal, scopes, inside, roots, byCookie }: Identity, { headers }: Pick<IncomingMessage, "headers">): Caller {
  if (inside || isMarked(headers)) return INSIDE_CALLER;
  // Access control creates the principals.
  return {
    principal: principal as Principal,
    scopes: SCOPES.filter((scope) => scopes.includes(scope)),
    ...(roots && { roots }),
    ...(byCookie && { inBrowser: true }),
  };
}
