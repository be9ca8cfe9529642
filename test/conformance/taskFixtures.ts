import { setTimeout as sleep } from "node:timers/promises";
import { RpcError } from "../../src/jsonrpc/errors.js";
import { deferred } from "../../src/lib/promises.js";
import type { Work, WorkEnd, WorkState } from "../../src/mcp/stateless/followedTurn.js";
import { valueAt } from "../support/scenarios/scenario.js";
import { text } from "./fixtureContent.js";

type Json = Readonly<Record<string, unknown>>;

/** The work of a fixture. It may ask questions, and it can be cancelled. */
class FixtureWork implements Work {
  readonly ended: Promise<WorkEnd>;
  readonly #watchers = new Set<() => void>();
  readonly #cancel = new AbortController();
  readonly #open = new Map<string, { readonly request: Json; readonly resolve: (response: unknown) => void }>();
  #asked = 0;
  #end: WorkEnd | undefined;

  constructor(job: (work: FixtureWork) => Promise<Json>) {
    this.ended = this.#do(job);
  }

  get state(): WorkState {
    if (this.#end) return { at: "ended", end: this.#end };
    const requests = Object.fromEntries([...this.#open].map(([key, { request }]) => [key, request]));
    return this.#open.size > 0 ? { at: "asking", message: "asking", requests } : { at: "working", message: "working" };
  }

  get signal(): AbortSignal {
    return this.#cancel.signal;
  }

  async ask(message: string): Promise<unknown> {
    const answered = deferred<unknown>();
    const requestedSchema = { type: "object", properties: { name: { type: "string" }, confirm: { type: "boolean" } } };
    this.#open.set(`q${++this.#asked}`, {
      request: { method: "elicitation/create", params: { message, requestedSchema } },
      resolve: (response) => answered.resolve(response),
    });
    this.#tell();
    return answered.promise;
  }

  watch(changed: () => void): () => void {
    this.#watchers.add(changed);
    return () => this.#watchers.delete(changed);
  }

  answer(responses: Json): void {
    for (const [key, response] of Object.entries(responses)) {
      this.#open.get(key)?.resolve(response);
      this.#open.delete(key);
    }
    this.#tell();
  }

  cancel(): void {
    this.#cancel.abort(new Error("cancelled"));
    for (const { resolve } of this.#open.values()) resolve(undefined);
  }

  async #do(job: (work: FixtureWork) => Promise<Json>): Promise<WorkEnd> {
    const end = await job(this).then(
      (result): WorkEnd => ({ how: "answered", result }),
      (error: unknown): WorkEnd => ({ how: "failed", error: error instanceof RpcError ? error : new RpcError(-32603, String(error)) }),
    );
    this.#end = this.signal.aborted ? { how: "cancelled", result: {} } : end;
    this.#open.clear();
    this.#tell();
    return this.#end;
  }

  #tell(): void {
    for (const changed of this.#watchers) changed();
  }
}

const says = (words: string): Json => ({ content: [text(words)] });

/** The suite's slow tools. Those that are `required` can only be called as tasks. */
export const TASK_TOOLS: Readonly<Record<string, { readonly required?: boolean; begin(args: unknown): Work }>> = {
  slow_compute: {
    begin: (args) =>
      new FixtureWork(async ({ signal }) => {
        await sleep(Number(valueAt(args, "seconds")) * 1_000, undefined, { signal });
        return says("computed");
      }),
  },
  failing_job: {
    required: true,
    begin: () =>
      new FixtureWork(async () => {
        await sleep(500);
        return { ...says("it failed"), isError: true };
      }),
  },
  protocol_error_job: {
    begin: () =>
      new FixtureWork(async () => {
        await sleep(500);
        throw new RpcError(-32603, "broken on purpose");
      }),
  },
  confirm_delete: {
    begin: () =>
      new FixtureWork(async (work) => {
        await work.ask("Really?");
        return says("deleted");
      }),
  },
  multi_input: {
    begin: () =>
      new FixtureWork(async (work) => {
        await Promise.all([work.ask("First?"), work.ask("Second?")]);
        return says("both");
      }),
  },
};

/** The second part of the suite's composed tool, after its question. */
export function greetLater(name: string): Work {
  return new FixtureWork(async () => {
    await sleep(200);
    return says(`Hello, ${name}!`);
  });
}
