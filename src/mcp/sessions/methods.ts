import { hasScope, ScopeMissing } from "../../agent/scopes.js";
import { invalidParams, methodNotFound, RPC, RpcError } from "../../jsonrpc/errors.js";
import { isRequestId, JsonText } from "../../jsonrpc/message.js";
import type { IncomingRequest } from "../../jsonrpc/peer.js";
import { isFields } from "../../lib/fields.js";
import { readTraceContext } from "../../observability/traceContext.js";
import { type Call, readProgressToken } from "../call.js";
import { callersInside, toolsFor } from "../inside.js";
import { takesPlace } from "../tools/catalog.js";
import type { ToolDeclaration } from "../tools/tool.js";
import { type CallToolResult, refusal } from "../wording/callResult.js";
import { isLogLevel, LOG_LEVELS } from "../wording/logMessage.js";
import { initializeResult, readClientProfile } from "./initialize.js";
import type { Dispatch, Session } from "./session.js";

type Method = (session: Session, request: IncomingRequest) => unknown;

const NOTHING = new JsonText({});

/** What a client may ask. */
const METHODS: Readonly<Record<string, Method>> = {
  initialize,
  ping: () => NOTHING,
  "tools/list": ({ parts }) => listOf(toolsFor(parts.caller, parts.tools, parts.objection ?? callersInside)),
  "tools/call": callTool,
  "logging/setLevel": setLogLevel,
};

export const MCP_DISPATCH: Dispatch = {
  answer(session, request) {
    const method = Object.hasOwn(METHODS, request.method) ? METHODS[request.method] : undefined;
    if (!method) throw methodNotFound(request.method);
    return method(session, request);
  },

  /** Notifications we do not know are ignored, as the protocol asks. */
  notified(session, method, params) {
    if (method !== "notifications/cancelled") return;
    const { requestId } = isFields(params) ? params : {};
    if (isRequestId(requestId)) session.cancel(requestId);
  },
};

const lists = new WeakMap<readonly ToolDeclaration[], JsonText>();

/** The list of a server's tools never changes, and is long. */
function listOf(tools: readonly ToolDeclaration[]): JsonText {
  const known = lists.get(tools) ?? new JsonText({ tools });
  lists.set(tools, known);
  return known;
}

async function initialize(session: Session, { params }: IncomingRequest): Promise<unknown> {
  const profile = readClientProfile(params);
  if (session.profile) throw new RpcError(RPC.invalidRequest, "initialize called more than once");
  session.welcome(profile);
  const { objection = callersInside, caller } = session.parts;
  return initializeResult(profile, { ...session.parts, instructions: objection(caller) });
}

async function callTool(session: Session, { id, params, signal }: IncomingRequest): Promise<CallToolResult> {
  if (!isFields(params) || typeof params["name"] !== "string") throw invalidParams("tools/call: `name` must be a string");
  const { name, arguments: args } = params;
  if (!session.parts.tools.some((tool) => tool.name === name)) return refusal(`Unknown tool '${name}'`);
  if (!hasScope(session.parts.caller, "call")) return refusal(new ScopeMissing("call").message);
  const action = (await session.parts.actions()).get(name);
  if (!action) throw new Error(`the tool ${name} is listed but does nothing`);
  const leave = takesPlace(name) ? await session.parts.enterTurn?.(signal) : undefined;
  if (leave === "not wanted any more") return refusal("The call was cancelled before its turn began.");
  try {
    const call: Call = {
      requestId: id,
      signal,
      caller: session.parts.caller,
      progressToken: readProgressToken(params),
      logLevel: () => session.logLevel,
      peer: session.peer,
      canElicit: session.profile?.elicitation ?? false,
      revision: session.profile?.revision,
      trace: readTraceContext(params),
    };
    const outcome = await action(args, call);
    if (!("turn" in outcome)) return outcome;
    // A handshake needs nothing of what follows turns.
    const { followTurn } = await import("./callTurn.js");
    return await followTurn(outcome, call);
  } finally {
    leave?.();
  }
}

async function setLogLevel(session: Session, { params }: IncomingRequest): Promise<unknown> {
  const { level } = isFields(params) ? params : {};
  if (!isLogLevel(level)) throw invalidParams(`logging/setLevel: \`level\` must be one of ${LOG_LEVELS.join(", ")}`);
  session.logLevel = level;
  return {};
}
