import * as z from "zod/mini";
import type { Agent, Ask } from "../../agent/agent.js";
import type { Scope } from "../../agent/caller.js";
import { invalidParams } from "../../jsonrpc/errors.js";
import { describe } from "../../lib/errors.js";
import type { ThreadId } from "../../lib/ids.js";
import type { Turn } from "../../threads/turn.js";

/** The client that calls, as methods know it. */
export interface MethodClient {
  /** How this server names itself to it. */
  readonly userAgent: string;
  notify(method: string, params: unknown): void;
  /** Tells it, and every other client that may manage the server. */
  tellAll(method: string, params: unknown): void;
  /** From this cursor of the feed on, the conversation's first listener is told everything, whenever it comes. */
  begins(id: ThreadId, cursor: string): void;
  /** Gives the id of the subscription. Throws `ThreadNotFound` for a conversation that the caller may not watch. */
  listen(id: ThreadId, options: { readonly raw: boolean }): Promise<string>;
  unlisten(subscription: string): void;
  /** Resolves when all its listeners on a conversation have told the end of a turn. */
  toldEndOf(turn: Pick<Turn, "threadId" | "key">): Promise<unknown>;
  /** What is sent to one conversation reaches it in order; an interrupt takes back what has not begun. */
  send(id: ThreadId, ask: Ask, begin: (ask: Ask) => Promise<Turn | undefined>): Promise<void>;
  /** Takes back what was sent to a conversation and has not begun. */
  takeBack(id: ThreadId): void;
}

/** What a method works with. */
export interface MethodContext {
  readonly agent: Agent;
  readonly ask: Ask;
  readonly client: MethodClient;
  /** Done once the answer is on its way: what the client is to hear after it. */
  readonly afterwards: (tell: () => void) => void;
}

/** Everything there is to one method: the table, the dispatch and the documentation are made from it. */
export interface CodexMethod {
  readonly name: string;
  /** What a caller over the network needs. */
  readonly scope: Scope;
  readonly params: z.ZodMiniObject;
  /** One sentence, and what is worth knowing besides. */
  readonly about: string;
  /** What the answer holds. */
  readonly answers: string;
  /** Codes and texts of what can go wrong, beside what can for every method. */
  readonly errors: readonly string[];
  /** Requests and answers on the wire, in order; `…` stands for what is different each time. */
  readonly example: readonly unknown[];
  call(params: unknown, context: MethodContext): Promise<unknown>;
}

interface MethodDefinition<P extends z.ZodMiniObject> extends Omit<CodexMethod, "params" | "call"> {
  readonly params: P;
  call(params: z.output<P>, context: MethodContext): Promise<unknown>;
}

/** Parameters are checked before `call` sees them: fields that nobody knows are passed over, and null is absent. Throws `invalidParams`. */
export function defineMethod<P extends z.ZodMiniObject>(definition: MethodDefinition<P>): CodexMethod {
  const { name, params: schema } = definition;
  return {
    ...definition,
    async call(params, context) {
      const checked = schema.safeParse(params ?? {}, { error: localeError });
      if (!checked.success) throw invalidParams(`${name}: ${complaint(checked.error)}`);
      return definition.call(checked.data, context);
    },
  };
}

const { localeError } = z.locales.en();

function complaint(error: z.core.$ZodError): string {
  const [first] = error.issues;
  if (!first) return describe(error);
  const place = first.path.map((step) => (typeof step === "number" ? `[${step}]` : `.${String(step)}`)).join("");
  return place === "" ? first.message : `\`${place.replace(/^\./, "")}\`: ${first.message}`;
}
