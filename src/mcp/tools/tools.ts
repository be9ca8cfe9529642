import { fileURLToPath } from "node:url";
import type { Agent, Ask } from "../../agent/agent.js";
import type { AttendedTurn } from "../../agent/attendance.js";
import type { Objection } from "../../agent/caller.js";
import { type Caller, hasScope } from "../../agent/caller.js";
import { CallCancelled, InsideTurn, ScopeMissing, ServerBusy } from "../../agent/errors.js";
import type { NamedSessions } from "../../agent/namedSessions.js";
import { beginCallTrail, type CallTrail } from "../../agent/watch/turnWatch.js";
import { RPC, RpcError } from "../../jsonrpc/errors.js";
import { AppError } from "../../lib/errors.js";
import { isFields } from "../../lib/fields.js";
import { turnIdOf } from "../../lib/ids.js";
import { monotonicMs, timeoutSignal } from "../../lib/promises.js";
import type { Telemetry } from "../../observability/telemetry.js";
import type { TurnWatch } from "../../threads/turn.js";
import { type CallToolResult, type DraftResult, presented, refusal } from "../wording/callResult.js";
import { INSTRUCTIONS } from "../wording/instructions.js";
import { joinedRemark } from "../wording/runningResult.js";
import type { Call, EventsShown } from "../wording/turnView.js";
import { remarkOnInjected } from "./injectedArguments.js";
import { declarationsOf, type Presentation, type ServedTool, setWith } from "./sets.js";
import type { StayRules } from "./stay.js";
import { type McpTool, parseArguments, type ToolDeclaration, type TurnAnswer } from "./tool.js";

/** What tool calls work with. */
export interface OpenedAgent {
  readonly agent: Agent;
  readonly sessions: NamedSessions;
  readonly telemetry: Telemetry;
}

export interface ToolsParts {
  readonly tools: readonly ServedTool[];
  /** Opened by the first call, so that a handshake does not wait for the agent. */
  readonly open: () => Promise<OpenedAgent>;
  /** Why nothing may be started for a caller. */
  readonly objection: Objection;
  /** Questions have no form fields, as in Codex; for clients that cannot show ours. */
  readonly emptyForms?: boolean | undefined;
  /** The URL of the console, if it is served. */
  readonly consoleAddress?: (() => string | undefined) | undefined;
  /** Which of Codex's events clients get. */
  readonly events?: "auto" | EventsShown | undefined;
  /** Maximum tokens of a result, for calls that do not set it. Absent: unlimited. */
  readonly resultTokens?: number | undefined;
  /** The models that the provider of new threads is known to offer, for the list. */
  readonly modelNames?: (() => readonly string[]) | undefined;
  /** The environment of the server. */
  readonly env?: Readonly<NodeJS.ProcessEnv> | undefined;
  /** The help text of the installed Codex; undefined if there is none. */
  readonly codexHelp?: (() => Promise<string | undefined>) | undefined;
}

/** A call whose result is the outcome of a turn. Each era of MCP follows the turn in its own way. */
export interface TurnCall extends Omit<TurnAnswer, "wait" | "remark"> {
  /** Absent where calls last as long as their turns. */
  readonly stay?: CallStay | undefined;
  readonly agent: Pick<Agent, "engineName" | "mustAsk" | "decide" | "answeredByNobody" | "receiptOf">;
  readonly presentation: Presentation;
  readonly emptyForms: boolean;
  readonly consoleAddress?: string | undefined;
  /** Remarks about the call itself, for its result. */
  readonly remarks?: readonly string[];
  readonly resultTokens: number;
}

/** A call that may leave its turn. */
export interface CallStay extends StayRules {
  /** How long each further request of the same call waits. */
  readonly limitMs: number;
  /** Another call started the turn and has shown its events. */
  readonly joined: boolean;
  /** Turns in the same folder whose callers do not know the thread id. */
  readonly lost: readonly AttendedTurn[];
  /** The call returned before its turn ended, or it did not start the turn. */
  readonly answered: (result: CallToolResult) => void;
}

/** The tools of a server: which caller sees which, and one way to call them for both eras of MCP. */
export class Tools {
  readonly #parts: ToolsParts;
  #all: readonly ToolDeclaration[] | undefined;
  readonly #inside: readonly ToolDeclaration[];
  /** Only the tools of Codex 0.92.0 are served, in its format. */
  readonly asRecorded: boolean;
  /** All calls wait for the same promises, so that they reach the agent in the order of arrival. */
  #opened: Promise<OpenedAgent> | undefined;
  readonly #loaded = new Map<ServedTool, Promise<McpTool>>();

  constructor(parts: ToolsParts) {
    this.#parts = parts;
    this.asRecorded = parts.tools.length > 0 && parts.tools.every(({ presentation }) => presentation.results === "recorded");
    this.#inside = declarationsOf(parts.tools.filter(({ servedInside }) => servedInside));
  }

  /** Returns the same array for the same kind of caller. */
  listFor(caller: Caller | undefined): readonly ToolDeclaration[] {
    if (this.objectionTo(caller) !== undefined) return this.#inside;
    this.#all ??= declarationsOf(this.#parts.tools, this.#parts.modelNames?.());
    return this.#all;
  }

  /** Why nothing may be started for a caller, worded for a model. */
  objectionTo(caller: Caller | undefined): string | undefined {
    return this.#parts.objection(caller);
  }

  /** Instructions for a caller's model. Undefined where the tools behave as Codex 0.92.0 did, which had none. */
  instructionsFor(caller: Caller | undefined): string | undefined {
    const isOurs = this.#parts.tools.some(({ presentation }) => presentation.results === "extended");
    return this.objectionTo(caller) ?? (isOurs ? INSTRUCTIONS : undefined);
  }

  find(name: string): ServedTool | undefined {
    return this.#parts.tools.find(({ declaration }) => declaration.name === name);
  }

  /** The result of a call to an unknown tool. */
  unknown(name: string): CallToolResult {
    const worded = this.#parts.tools.find(({ presentation }) => presentation.unknownTool)?.presentation.unknownTool;
    if (worded) return refusal(undefined, worded(name));
    const error = `Unknown tool '${name}'`;
    return refusal(undefined, this.asRecorded ? error : `${error}. ${this.#whereToFind(name)}`);
  }

  #whereToFind(name: string): string {
    const set = setWith(name);
    return set === undefined
      ? `The tools of this server are ${this.#parts.tools.map(({ declaration }) => declaration.name).join(", ")}.`
      : `It is in the set ${set}, which this server was not started with (--tools).`;
  }

  /** An expected failure is an `isError` result. Throws `RPC.busy` if too much is running already. */
  async call(served: ServedTool, args: unknown, call: Call): Promise<CallToolResult | TurnCall> {
    const { declaration, servedInside, presentation } = served;
    const since = monotonicMs();
    if (!hasScope(call.caller, "call")) {
      const { refusal: word = refusal } = await this.#toolOf(served);
      return presented(word(new ScopeMissing("call")), presentation);
    }
    const { agent, sessions, telemetry } = await (this.#opened ?? this.#open());
    const tool = await this.#toolOf(served);
    const { refusal: word = refusal } = tool;
    const trail = beginCallTrail(declaration.name, call, telemetry);
    try {
      let joined = true;
      const watchTurn: TurnWatch = (turn) => {
        joined = false;
        return trail.watchTurn(turn);
      };
      const ask = { caller: call.caller, signal: call.signal, watchTurn, wantsReceipt: presentation.results === "extended" };
      const why = servedInside ? undefined : this.objectionTo(call.caller);
      if (why !== undefined) return trail.ended(presented(word(new InsideTurn(why)), presentation));
      const { resultTokens = Infinity, env = {}, codexHelp = async () => undefined } = this.#parts;
      const turnId = turnIdOf(String(call.requestId));
      const context = { agent, sessions, ask, turnId, clientRoots: () => rootsOf(call), resultTokens, env, codexHelp };
      const values = (tool.parse ?? parseArguments)(args, tool);
      const outcome = await tool.call(values, context);
      const hasMore = !tool.ignoresUnknown && isFields(args) && Object.keys(args).length > Object.keys(values).length;
      const remarks = hasMore ? remarkOnInjected(args, tool.inputSchema.properties) : [];
      if ("turn" in outcome) {
        const { wait: _, remark, ...answered } = outcome;
        const stay = await stayFor(outcome, { agent, ask, call, presentation, since, joined, trail });
        const joins = stay?.visit.findsLost ? [joinedRemark(outcome.turn.ms)] : [];
        const ofTool = remark === undefined ? [] : [remark];
        return { ...this.#turnCall(answered, call, { agent, presentation }), remarks: [...joins, ...ofTool, ...remarks], stay };
      }
      return trail.ended(presented(outcome, { ...presentation, remarks }));
    } catch (error) {
      trail.failed(error);
      if (error instanceof ServerBusy) telemetry.metrics.callRefused({ reason: "busy" });
      return presented(asResult(error, call.signal, word), presentation);
    }
  }

  #toolOf(served: ServedTool): Promise<McpTool> {
    return this.#loaded.get(served) ?? this.#load(served);
  }

  #turnCall(answer: TurnAnswer, call: Call, { agent, presentation }: Pick<TurnCall, "agent" | "presentation">): TurnCall {
    const { emptyForms = false, events: mode = "auto", resultTokens = Infinity } = this.#parts;
    const events = eventsFor(mode, presentation, call);
    return {
      resultTokens,
      ...answer,
      agent,
      presentation: { ...presentation, events },
      emptyForms,
      consoleAddress: this.#parts.consoleAddress?.(),
    };
  }

  /** The next call retries after a failure. */
  #open(): Promise<OpenedAgent> {
    const opened = this.#parts.open();
    this.#opened = opened;
    opened.catch(() => {
      this.#opened = undefined;
    });
    return opened;
  }

  #load(served: ServedTool): Promise<McpTool> {
    const loading = served.load();
    this.#loaded.set(served, loading);
    loading.catch(() => this.#loaded.delete(served));
    return loading;
  }
}

/** Roots are only a hint, so the call does not wait long for them. */
const ROOTS_MS = 2_000;
const MOST_ROOTS = 5;

async function rootsOf({ listsRoots = false, peer, requestId, signal }: Call): Promise<readonly string[]> {
  if (!listsRoots) return [];
  try {
    const both = AbortSignal.any([signal, timeoutSignal(ROOTS_MS)]);
    const answer = await peer.request("roots/list", undefined, {
      signal: both,
      withdrawWith: "notifications/cancelled",
      relatedTo: requestId,
    });
    const roots = isFields(answer) && Array.isArray(answer["roots"]) ? answer["roots"] : [];
    return roots.flatMap((root: unknown) => folderOf(isFields(root) ? root["uri"] : undefined)).slice(0, MOST_ROOTS);
  } catch {
    return [];
  }
}

function folderOf(uri: unknown): string[] {
  if (typeof uri !== "string" || !uri.startsWith("file:")) return [];
  try {
    return [fileURLToPath(uri)];
  } catch {
    return [];
  }
}

/** A client that declares the events extension gets events, whatever its name. */
function eventsFor(mode: "auto" | EventsShown, { events, results }: Presentation, { reader, asksForEvents }: Call): EventsShown {
  if (events === "none") return "none";
  if (mode !== "auto") return mode;
  return results === "recorded" || asksForEvents || reader.client.readsEvents ? events : "none";
}

interface StayParts {
  readonly agent: Agent;
  readonly ask: Ask;
  readonly call: Call;
  readonly presentation: Presentation;
  /** When the call arrived. */
  readonly since: number;
  readonly joined: boolean;
  readonly trail: CallTrail;
}

/** From now on the call attends its turn. */
async function stayFor({ turn, wait }: TurnAnswer, parts: StayParts): Promise<CallStay | undefined> {
  const { agent, ask, call, since, joined, trail } = parts;
  if (!parts.presentation.turnsOutliveCalls) {
    const visit = agent.visit(turn);
    // The outcome never rejects.
    void turn.outcome.then(() => visit.received());
    return undefined;
  }
  const lost = await agent.lostTurns(ask, turn);
  const waiter = { principal: call.caller?.principal, client: call.client?.name };
  const { waits } = call.reader.client;
  const ms = agent.patience.of(waiter, {
    askedMs: wait === undefined ? undefined : wait * 1_000,
    wall: waits === true ? true : waits * 1_000,
  });
  const elapsed = () => monotonicMs() - since;
  return {
    visit: agent.visit(turn),
    patienceMs: Math.max(0, ms - elapsed()),
    limitMs: ms,
    timedOut: () => agent.patience.timedOut(waiter, elapsed()),
    joined,
    lost,
    answered: (result) => {
      // A call that started its turn ends with it, in the log and in the metrics.
      if (joined) trail.ended(result);
    },
  };
}

function asResult(error: unknown, { aborted }: AbortSignal, word: (error: AppError) => DraftResult): DraftResult {
  if (error instanceof ServerBusy) throw new RpcError(RPC.busy, error.message, { code: error.code });
  if (error instanceof AppError && (!aborted || error instanceof CallCancelled)) return word(error);
  if (aborted) return word(new CallCancelled("The call was cancelled."));
  throw error;
}
