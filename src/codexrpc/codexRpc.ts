import type { Agent } from "../agent/agent.js";
import { hasScope } from "../agent/caller.js";
import type { Telemetry } from "../observability/telemetry.js";
import { AskedClients } from "./client/approvalRequests.js";
import { FrontEnd, type FrontEndParts } from "./client/frontEnd.js";
import { cancelLoginChatGpt, getAuthStatus, loginApiKey, loginChatGpt, logoutChatGpt, userInfo } from "./methods/account.js";
import { execOneOffCommand, getUserAgent, getUserSavedConfig, gitDiffToRemote, setDefaultModel } from "./methods/machine.js";
import { archiveConversation, listConversations, resumeConversation } from "./methods/saved.js";
import {
  addConversationListener,
  interruptConversation,
  newConversation,
  removeConversationListener,
  sendUserMessage,
  sendUserTurn,
} from "./methods/turns.js";
import type { CodexMethod } from "./surface/method.js";

/** Every method, in the order of the documentation. */
const LISTED: readonly CodexMethod[] = [
  newConversation,
  listConversations,
  resumeConversation,
  archiveConversation,
  sendUserMessage,
  sendUserTurn,
  interruptConversation,
  addConversationListener,
  removeConversationListener,
  gitDiffToRemote,
  execOneOffCommand,
  getUserSavedConfig,
  setDefaultModel,
  getUserAgent,
  userInfo,
  loginApiKey,
  loginChatGpt,
  cancelLoginChatGpt,
  logoutChatGpt,
  getAuthStatus,
];

export const METHODS: ReadonlyMap<string, CodexMethod> = new Map(LISTED.map((method) => [method.name, method]));

interface CodexRpcParts {
  readonly agent: Agent;
  readonly telemetry: Telemetry;
}

/** Codex's own methods for all clients of a server. A change that affects all clients is reported to the others. */
export class CodexRpc {
  readonly #parts: CodexRpcParts;
  readonly #frontEnds = new Set<FrontEnd>();
  readonly #asked = new AskedClients();

  constructor(parts: CodexRpcParts) {
    this.#parts = parts;
  }

  open(client: Pick<FrontEndParts, "peer" | "caller" | "userAgent">): FrontEnd {
    const frontEnd = new FrontEnd({
      ...this.#parts,
      ...client,
      methods: METHODS,
      asked: this.#asked,
      notifyAll: (method, params) => this.#notifyAll(method, params),
      closed: (one) => this.#frontEnds.delete(one),
    });
    this.#frontEnds.add(frontEnd);
    return frontEnd;
  }

  /** Only clients with `manage` are notified of the login. */
  #notifyAll(method: string, params: unknown): void {
    for (const frontEnd of this.#frontEnds) if (hasScope(frontEnd.caller, "manage")) frontEnd.notify(method, params);
  }
}
