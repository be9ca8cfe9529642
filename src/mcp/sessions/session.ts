import { type Caller, withoutSession } from "../../agent/caller.js";
import { CallerTimedOut, CallerVanished } from "../../agent/errors.js";
import { invalidParams, methodNotFound, RPC, RpcError } from "../../jsonrpc/errors.js";
import { isRequestId, JsonText, type RequestId } from "../../jsonrpc/message.js";
import { type IncomingRequest, JsonRpcPeer } from "../../jsonrpc/peer.js";
import type { Frame, Outlet } from "../../jsonrpc/wire.js";
import { describe } from "../../lib/errors.js";
import { isFields } from "../../lib/fields.js";
import { readTraceContext } from "../../observability/telemetry.js";
import { clientProfile, UNKNOWN_CLIENT } from "../clientProfiles.js";
import { batchObjection, claimsVersion, hasStructuredContent } from "../revisions.js";
import { type ClientHabits, readClaim } from "../stateless/request.js";
import type { StatelessServer } from "../stateless/server.js";
import type { ToolDeclaration } from "../tools/tool.js";
import type { Tools } from "../tools/tools.js";
import type { CallToolResult } from "../wording/callResult.js";
import { isLogLevel, LOG_LEVELS, type LogLevel } from "../wording/logMessage.js";
import { type Call, type ClientReader, readProgressToken } from "../wording/turnView.js";
import { type Handshake, initializeResult, readHandshake } from "./initialize.js";

/** Methods of one session that are not part of MCP. */
export interface FurtherMethods {
  has(method: string): boolean;
  answer(request: IncomingRequest): Promise<unknown>;
  /** Ends work that the session's requests started and that outlives them. */
  close(): void;
}

/** The handler of one method. */
export type SessionMethod = (session: Session, request: IncomingRequest) => unknown;

export interface SessionParts {
  /** The caller of a network session or of a session inside a turn; absent on stdio. */
  readonly caller?: Caller | undefined;
  readonly tools: Tools;
  /** The stateless era, for requests that name their version. Loaded on first use. */
  readonly stateless?: (() => Promise<StatelessServer>) | undefined;
  /** Methods besides MCP's, for clients with a handshake. Loaded on first use. */
  readonly furtherMethods?: ((session: Session) => Promise<FurtherMethods>) | undefined;
  /** The methods that a client may call. Default: MCP's own. */
  readonly methods?: Readonly<Record<string, SessionMethod>>;
  readonly engine: string;
  readonly env: NodeJS.ProcessEnv;
  /** Called after the response to the handshake: a good moment to load what the first call needs. */
  readonly welcomed: () => void;
  /** Writes to the server's own output. */
  readonly report: (line: string) => void;
  /**
   * Logs an unexpected error, and returns the message for the client. Absent on stdio, where the client belongs to the user and gets the
   * full error.
   */
  readonly failed?: (method: string, error: unknown) => string;
  /** Maximum number of concurrent requests. */
  readonly requestsInFlight?: number | undefined;
}

/** A client that probes MCP methods loads no further ones: all but two contain a slash. Those below are of Codex's app-server. */
function isOfMcp(method: string): boolean {
  return method.includes("/") && !/^(?:thread|turn|review|account|config|command|model)\//.test(method);
}

const NOTHING = new JsonText({});

/** The methods of the era with sessions. */
export const SESSION_METHODS: Readonly<Record<string, SessionMethod>> = {
  initialize,
  ping: () => NOTHING,
  "tools/list": ({ parts: { tools, caller } }) => listOf(tools.listFor(caller)),
  "tools/call": callTool,
  "logging/setLevel": setLogLevel,
};

/** One client: its peer, its handshake and its running calls. */
export class Session {
  readonly peer: JsonRpcPeer;
  readonly parts: SessionParts;
  logLevel: LogLevel | undefined;
  /** What was learned from the client's behaviour. */
  readonly habits: ClientHabits = { answersByItself: false };
  #profile: Handshake | undefined;
  /** Before a handshake the client counts as an unknown one of a current revision, as in Codex. */
  #reader: ClientReader = { client: UNKNOWN_CLIENT, takesStructured: true };
  #further: Promise<FurtherMethods> | undefined;
  /** Stateless requests in progress. */
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

  get reader(): ClientReader {
    return this.#reader;
  }

  /** Behind a gateway, another client may use the same connection. The last handshake counts. */
  welcome(profile: Handshake): void {
    const isFirst = this.#profile === undefined;
    this.#profile = profile;
    this.#reader = { client: clientProfile(profile), takesStructured: hasStructuredContent(profile.revision) };
    this.logLevel = undefined;
    this.habits.answersByItself = false;
    this.peer.batchObjection = batchObjection(profile.revision);
    if (isFirst) this.parts.welcomed();
  }

  /** Interrupts the client's calls, including those that are still to come. They still get a response. */
  interrupt(reason: Error): void {
    this.peer.interrupt(reason);
  }

  /** The client disconnected during its calls and did not come back. */
  vanish(): void {
    this.peer.interrupt(new CallerVanished("the client's connection broke, and it did not come back"), { later: false });
  }

  /** The client's connection has closed. Requests of the session wait for the client; stateless requests are cancelled. */
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

  /** Each message that names its version belongs to the stateless era; all others belong to the session. */
  #answer(request: IncomingRequest): unknown {
    const { methods = SESSION_METHODS, stateless } = this.parts;
    if (stateless && hasMeta(request.params) && claimsVersion(request.params)) return this.#answerStateless(request, stateless);
    const method = Object.hasOwn(methods, request.method) ? methods[request.method] : undefined;
    return method ? method(this, request) : this.#answerFurther(request);
  }

  #answerFurther(request: IncomingRequest): Promise<unknown> {
    const { furtherMethods, tools } = this.parts;
    if (!furtherMethods || tools.asRecorded || isOfMcp(request.method)) throw methodNotFound(request.method);
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
        // Created on demand: an AbortController is expensive.
        get signal() {
          return request.signal;
        },
        // A stateless request has no session, even if its channel has one.
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

  /** Unknown notifications are ignored, as the protocol requires. A cancelled request gets no response, and its work is interrupted. */
  #notified(method: string, params: unknown): void {
    if (method !== "notifications/cancelled") return;
    const { requestId, reason } = isFields(params) ? params : {};
    if (isRequestId(requestId)) this.peer.cancel(requestId, cancelReason(reason));
  }
}

/**
 * The official SDKs send the text of their error: "McpError: MCP error -32001: Request timed out", "Maximum total timeout exceeded", or the
 * message of `AbortSignal.timeout`. Other clients mention a deadline. A person who cancels sends no such text.
 */
const TIMED_OUT = /\btime(?:d)?[ _-]?out|deadline (?:has )?(?:been )?(?:exceeded|elapsed|passed)|DeadlineExceeded/i;

/** Long enough for all of these; a client may send a megabyte. */
const REASON_LENGTH = 1_000;

function cancelReason(said: unknown): Error {
  if (typeof said === "string" && TIMED_OUT.test(said.slice(0, REASON_LENGTH))) return new CallerTimedOut("the client stopped waiting");
  return new Error("the client cancelled the request");
}

const lists = new WeakMap<readonly ToolDeclaration[], JsonText>();

/** A server's tool list never changes and is long, so its JSON text is cached. */
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

/** A message names its version in `_meta`, which many clients never send. */
function hasMeta(params: unknown): boolean {
  return isFields(params) && params["_meta"] !== undefined;
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
    listsRoots: session.profile?.roots ?? false,
    reader: session.reader,
    client: session.profile,
    trace: readTraceContext(params),
  };
  session.peer.concerns(id);
  const outcome = await tools.call(tool, args, call);
  if (!("turn" in outcome)) return outcome;
  session.peer.concerns(id, outcome.turn.threadId);
  // Loaded here, because a handshake does not need it.
  const { followTurn } = await import("./callTurn.js");
  return followTurn(outcome, call);
}

async function setLogLevel(session: Session, { params }: IncomingRequest): Promise<unknown> {
  const { level } = isFields(params) ? params : {};
  if (!isLogLevel(level)) throw invalidParams(`logging/setLevel: \`level\` must be one of ${LOG_LEVELS.join(", ")}`);
  session.logLevel = level;
  return {};
}
