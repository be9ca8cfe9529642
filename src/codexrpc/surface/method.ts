import * as z from "zod/mini";
import type { Agent, Ask } from "../../agent/agent.js";
import type { Scope } from "../../agent/caller.js";
import { invalidParams } from "../../jsonrpc/errors.js";
import { describe } from "../../lib/errors.js";
import type { ThreadId } from "../../lib/ids.js";
import type { Turn } from "../../threads/turn.js";

/** The calling client, as methods see it. */
export interface MethodClient {
  /** The server's user agent for this client. */
  readonly userAgent: string;
  notify(method: string, params: unknown): void;
  /** Notifies this client and every other one with the scope `manage`. */
  notifyAll(method: string, params: unknown): void;
  /** The conversation's first listener gets everything from this cursor of the feed on, even if it is added later. */
  begins(id: ThreadId, cursor: string): void;
  /** Returns the id of the subscription. Throws `ThreadNotFound` for a conversation that the caller may not watch. */
  listen(id: ThreadId, options: { readonly raw: boolean }): Promise<string>;
  unlisten(subscription: string): void;
  /** Resolves when all its listeners on a conversation have sent the end of a turn. */
  turnEndSent(turn: Pick<Turn, "threadId" | "key">): Promise<unknown>;
  /** Messages to one conversation are delivered in order. `halt` withdraws those that have not started. */
  send(id: ThreadId, ask: Ask, begin: (ask: Ask) => Promise<Turn | undefined>): Promise<void>;
  /**
   * Withdraws the messages to a conversation that have not started a turn, and calls `stop` at once; its argument settles when they are
   * withdrawn. Messages that are sent later wait until `stop` has ended.
   */
  halt(id: ThreadId, stop: (withdrawn: Promise<unknown>) => Promise<void>): Promise<void>;
}

/** What a method works with. */
export interface MethodContext {
  readonly agent: Agent;
  readonly ask: Ask;
  readonly client: MethodClient;
  /** Runs `tell` after the response was sent. */
  readonly afterwards: (tell: () => void) => void;
}

/** The definition of one method. The dispatch and the documentation are generated from it. */
export interface CodexMethod {
  readonly name: string;
  /** The scope that a network caller needs. */
  readonly scope: Scope;
  readonly params: z.ZodMiniObject;
  /** The description: one sentence, and further details. */
  readonly about: string;
  /** The content of the result. */
  readonly answers: string;
  /** The codes and texts of the method's errors, besides those that every method has. */
  readonly errors: readonly string[];
  /** Requests and responses on the wire, in order; `…` stands for values that differ each time. */
  readonly example: readonly unknown[];
  call(params: unknown, context: MethodContext): Promise<unknown>;
}

interface MethodDefinition<P extends z.ZodMiniObject> extends Omit<CodexMethod, "params" | "call"> {
  readonly params: P;
  call(params: z.output<P>, context: MethodContext): Promise<unknown>;
}

/**
 * Parameters are checked before `call`: unknown fields are ignored, and null counts as absent. A method without parameters ignores whatever
 * it is given, as Codex did. Throws `invalidParams`.
 */
export function defineMethod<P extends z.ZodMiniObject>(definition: MethodDefinition<P>): CodexMethod {
  const { name, params: schema } = definition;
  const takesNothing = Object.keys(schema.def.shape).length === 0;
  return {
    ...definition,
    async call(params, context) {
      const checked = schema.safeParse(takesNothing ? {} : (params ?? {}), { error: localeError });
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
