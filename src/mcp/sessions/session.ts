import { type Caller, withoutSession } from "../../agent/caller.js";
import { CallerTimedOut, CallerVanished } from "../../agent/errors.js";
import { invalidParams, methodNotFound, RPC, RpcError } from "../../jsonrpc/errors.js";
import { isRequestId, JsonText, type RequestId } from "../../jsonrpc/message.js";
import { type IncomingRequest, JsonRpcPeer } from "../../jsonrpc/peer.js";
import type { Frame, Outlet } from "../../jsonrpc/wire.js";
import { describe } from "../../lib/errors.js";
import { isFields } from "../../lib/fields.js";
import { readTraceContext } from "../../observability/telemetry.js";
import { batchObjection, claimsVersion } from "../revisions.js";
import { type ClientHabits, readClaim } from "../stateless/request.js";
import type { StatelessServer } from "../stateless/server.js";
import type { ToolDeclaration } from "../tools/tool.js";
import type { Tools } from "../tools/tools.js";
import type { CallToolResult } from "../wording/callResult.js";
import { isLogLevel, LOG_LEVELS, type LogLevel } from "../wording/logMessage.js";
import { type Call, readProgressToken } from "../wording/turnView.js";
import { type Handshake, initializeResult, readHandshake } from "./initialize.js";

/** Methods that are no part of MCP, for one session. */
export interface FurtherMethods {
  /** Whether there is a method of this name. */
  has(method: string): boolean;
  answer(request: IncomingRequest): Promise<unknown>;
  /** Ends what the session's requests began and which outlives them. */
  close(): void;
}

/** Answers one method of a client. */
export type SessionMethod = (session: Session, request: IncomingRequest) => unknown;

export interface SessionParts {
  /** Who is at the other end of a network session, or inside a turn; absent on stdio. */
  readonly caller?: Caller | undefined;
  readonly tools: Tools;
  /** The era without sessions, for requests that name their version themselves. Loaded with the first of them. */
  readonly stateless?: (() => Promise<StatelessServer>) | undefined;
  /** Methods beside MCP's, for clients that began this session. Loaded with the first of them. */
  readonly furtherMethods?: ((session: Session) => Promise<FurtherMethods>) | undefined;
  /** What a client may ask; MCP's own unless given. */
  readonly methods?: Readonly<Record<string, SessionMethod>>;
  readonly engine: string;
  readonly env: NodeJS.ProcessEnv;
  /** Called once the client's handshake is answered: a good moment to load what its first call will need. */
  readonly welcomed: () => void;
  /** For people who look at the server's own output. */
  readonly report: (line: string) => void;
  /** Notes what nobody foresaw, and returns what the client is told of it. Absent on stdio, where the client is the user's own and is told all. */
  readonly failed?: (method: string, error: unknown) => string;
  /** Requests that may be in flight at once. */
  readonly requestsInFlight?: number | undefined;
}

const NOTHING = new JsonText({});

/** What a client may ask in the era with sessions. */
export const SESSION_METHODS: Readonly<Record<string, SessionMethod>> = {
  initialize,
  ping: () => NOTHING,
  "tools/list": ({ parts: { tools, caller } }) => listOf(tools.listFor(caller)),
  "tools/call": callTool,
  "logging/setLevel": setLogLevel,
};

/** One client: its peer, what it said of itself, and the calls it has running. */
export class Session {
  readonly peer: JsonRpcPeer;
  readonly parts: SessionParts;
  logLevel: LogLevel | undefined;
  /** What the client has shown of itself. */
  readonly habits: ClientHabits = { answersByItself: false };
  #profile: Handshake | undefined;
  #further: Promise<FurtherMethods> | undefined;
  /** Requests of the era without sessions that are being answered. */
  readonly #stateless = new Set<RequestId>();

  constructor(outlet: Outlet, parts: SessionParts) {
    this.parts = parts;
    this.peer = new JsonRpcPeer(
      outlet,
      {
        answer: (request) => this.#answer(request),
        notified: (method, params) => this.#notified(method, params),
        unreadable: (reason) => parts.report(`ignored a message: ${reason}`),
        failed: (method, error) => parts.failed?.(method, error) ?? this.#tellFailure(method, error),
      },
      { incoming: parts.requestsInFlight },
    );
    this.peer.batchObjection = batchObjection(undefined);
  }

  get profile(): Handshake | undefined {
    return this.#profile;
  }

  /** Another client may come by the same connection, behind a gateway: from then on it is the one that is spoken to. */
  welcome(profile: Handshake): void {
    const isFirst = this.#profile === undefined;
    this.#profile = profile;
    this.logLevel = undefined;
    this.habits.answersByItself = false;
    this.peer.batchObjection = batchObjection(profile.revision);
    if (isFirst) this.parts.welcomed();
  }

  /** Stops what the client's calls started, and what they would start from now on; they are answered. */
  interrupt(reason: Error): void {
    this.peer.interrupt(reason);
  }

  /** The client went away in the middle of its calls and did not come back. */
  vanish(): void {
    this.peer.interrupt(new CallerVanished("the client's connection broke, and it did not come back"), { later: false });
  }

  /** The client's channel is gone. What it asked in this session waits for it; what stood for itself is cancelled. */
  leave(): void {
    for (const id of this.#stateless) this.peer.cancel(id, new Error("the client has closed its connection"));
  }

  /** Serves the client until it closes its side. */
  run(incoming: AsyncIterable<Frame>): Promise<void> {
    return this.peer.run(incoming);
  }

  close(reason: Error): void {
    this.peer.close(reason);
    this.#further?.then(
      (further) => further.close(),
      () => undefined,
    );
  }

  /** Message by message: what names its version itself is of the era without sessions, all else of the one with. */
  #answer(request: IncomingRequest): unknown {
    const { methods = SESSION_METHODS, stateless } = this.parts;
    if (stateless && claimsVersion(request.params)) return this.#answerStateless(request, stateless);
    const method = Object.hasOwn(methods, request.method) ? methods[request.method] : undefined;
    return method ? method(this, request) : this.#answerFurther(request);
  }

  #answerFurther(request: IncomingRequest): Promise<unknown> {
    const { furtherMethods, tools } = this.parts;
    // All of MCP's names have a slash but two, and none of these has: clients that try what a server may have load nothing.
    if (!furtherMethods || tools.asRecorded || request.method.includes("/")) throw methodNotFound(request.method);
    this.#further ??= furtherMethods(this);
    return this.#further.then((further) => further.answer(request));
  }

  async #answerStateless(request: IncomingRequest, stateless: () => Promise<StatelessServer>): Promise<unknown> {
    const { id, method, params } = request;
    this.#stateless.add(id);
    try {
      const claim = readClaim(params);
      const server = await stateless();
      return await server.answer({
        id,
        method,
        params: isFields(params) ? params : {},
        claim,
        // Asked for when it is needed: an AbortController is expensive to make.
        get signal() {
          return request.signal;
        },
        // The channel's session is nothing to a request that stands for itself.
        caller: withoutSession(this.parts.caller),
        peer: this.peer,
        habits: this.habits,
      });
    } finally {
      this.#stateless.delete(id);
    }
  }

  #tellFailure(method: string, error: unknown): string {
    this.parts.report(`${method} failed unexpectedly: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`);
    return `internal error: ${describe(error)}`;
  }

  /** Notifications we do not know are ignored, as the protocol asks. A cancelled request is not answered; what it started is interrupted. */
  #notified(method: string, params: unknown): void {
    if (method !== "notifications/cancelled") return;
    const { requestId, reason } = isFields(params) ? params : {};
    if (isRequestId(requestId)) this.peer.cancel(requestId, cancelReason(reason));
  }
}

/**
 * The official SDKs send the text of their error: "McpError: MCP error -32001: Request timed out", "Maximum total timeout exceeded", or what an
 * `AbortSignal.timeout` says; others write of a deadline. Nobody but a clock writes that.
 */
const TIMED_OUT = /\btime(?:d)?[ _-]?out|deadline (?:has )?(?:been )?(?:exceeded|elapsed|passed)|DeadlineExceeded/i;

/** Long enough for any of them; a client may send a megabyte. */
const REASON_LENGTH = 1_000;

function cancelReason(said: unknown): Error {
  if (typeof said === "string" && TIMED_OUT.test(said.slice(0, REASON_LENGTH))) return new CallerTimedOut("the client stopped waiting");
  return new Error("the client cancelled the request");
}

const lists = new WeakMap<readonly ToolDeclaration[], JsonText>();

/** The list of a server's tools never changes, and is long. */
function listOf(tools: readonly ToolDeclaration[]): JsonText {
  const known = lists.get(tools) ?? new JsonText({ tools });
  lists.set(tools, known);
  return known;
}

async function initialize(session: Session, { params }: IncomingRequest): Promise<unknown> {
  const profile = readHandshake(params);
  const { tools, caller } = session.parts;
  if (session.profile && tools.asRecorded) throw new RpcError(RPC.invalidRequest, "initialize called more than once");
  session.welcome(profile);
  return initializeResult(profile, { ...session.parts, instructions: tools.instructionsFor(caller) });
}

async function callTool(session: Session, { id, params, signal }: IncomingRequest): Promise<CallToolResult> {
  if (!isFields(params) || typeof params["name"] !== "string") throw invalidParams("tools/call: `name` must be a string");
  const { name, arguments: args } = params;
  const { tools, caller } = session.parts;
  const tool = tools.find(name);
  if (!tool) return tools.unknown(name);
  const call: Call = {
    requestId: id,
    signal,
    caller,
    progressToken: readProgressToken(params),
    logLevel: () => session.logLevel,
    peer: session.peer,
    get canElicit() {
      return (session.profile?.elicitation ?? false) && !session.habits.answersByItself;
    },
    asksNobody: () => {
      session.habits.answersByItself = true;
    },
    tellsRoots: session.profile?.roots ?? false,
    revision: session.profile?.revision,
    client: session.profile,
    trace: readTraceContext(params),
  };
  session.peer.concerns(id);
  const outcome = await tools.call(tool, args, call);
  if (!("turn" in outcome)) return outcome;
  session.peer.concerns(id, outcome.turn.threadId);
  // A handshake needs nothing of what follows turns.
  const { followTurn } = await import("./callTurn.js");
  return followTurn(outcome, call);
}

async function setLogLevel(session: Session, { params }: IncomingRequest): Promise<unknown> {
  const { level } = isFields(params) ? params : {};
  if (!isLogLevel(level)) throw invalidParams(`logging/setLevel: \`level\` must be one of ${LOG_LEVELS.join(", ")}`);
  session.logLevel = level;
  return {};
}
