import { withoutSecrets } from "../../exec/environment.js";
import { endStragglers, endWithUs, killTree } from "../../exec/killTree.js";
import { MARK_VARIABLE, markText } from "../../exec/nesting/turnMark.js";
import { startProgram } from "../../exec/startProgram.js";
import { describe } from "../../lib/errors.js";
import { endsWithin, waitFor } from "../../lib/promises.js";
import type { TurnContext } from "../../threads/engine.js";
import type { ThreadEvent } from "../../threads/events.js";
import type { ThreadSettings } from "../../threads/settings.js";
import { findProgram } from "./agentServers/openLink.js";
import type { HostEnvironment } from "./tools/hostEnvironment.js";

/** The time limit of one run. */
const LONGEST_MS = 30_000;
/** The limit of concurrent runs; turns that end meanwhile are not reported. */
const MOST_AT_ONCE = 8;
/** How long running programs have to end by themselves when the server closes. */
const EXIT_MS = 1_000;

/** A turn that is reported to the `notify` program. */
interface CompletedTurn {
  readonly settings: ThreadSettings;
  readonly turn: Pick<TurnContext, "threadId" | "turnId">;
  /** The user's messages on the thread so far. */
  readonly inputMessages: readonly string[];
  readonly lastMessage: string | null;
}

type NotifierHost = Pick<HostEnvironment, "env" | "codexHome" | "outside" | "contain" | "mark">;

/**
 * Runs the program of the user's `notify` setting after each completed turn, with a JSON text as its last argument. Turns do not wait for
 * it, a failure is reported once, and none of its processes outlives the engine.
 */
export class TurnNotifier implements AsyncDisposable {
  readonly #host: NotifierHost;
  readonly #report: (line: string) => void;
  readonly #stop = new AbortController();
  readonly #running = new Set<Promise<void>>();
  readonly #reported = new Set<string>();

  constructor(host: NotifierHost, report: (line: string) => void) {
    this.#host = host;
    this.#report = report;
  }

  /** Returns at once. */
  tell(completed: CompletedTurn): void {
    if (this.#stop.signal.aborted) return;
    if (this.#running.size >= MOST_AT_ONCE) return this.#complain(`${MOST_AT_ONCE} runs of it have not ended`);
    const run: Promise<void> = this.#run(completed)
      .catch((error: unknown) => this.#complain(describe(error)))
      .finally(() => this.#running.delete(run));
    this.#running.add(run);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const all = Promise.all(this.#running);
    await endsWithin(EXIT_MS, all);
    this.#stop.abort(new Error("the server ends"));
    await all;
  }

  async #run(completed: CompletedTurn): Promise<void> {
    const { notify = [], shellEnvironment } = completed.settings;
    const [command = "", ...args] = notify;
    if (command === "") return;
    const { env, codexHome, outside } = this.#host;
    const launch = await this.#host.contain({
      argv: [findProgram({ command, env: {} }, this.#host), ...args, JSON.stringify(payloadOf(completed))],
      // Not a folder that commands may write: files there would decide what runs.
      cwd: codexHome,
      env: {
        ...withoutSecrets(env, shellEnvironment.secrets ?? []),
        PATH: outside.searchPath,
        // The last argument comes from the model, so a server that the program starts must know that it runs inside a turn.
        [MARK_VARIABLE]: markText(this.#host.mark(completed.settings)),
      },
    });
    const { signal } = this.#stop;
    const program = await startProgram(launch, { stdin: "none", signal });
    if (!program) {
      launch.release();
      return;
    }
    const gone = endWithUs(program);
    for (const stream of [program.stdout, program.stderr]) stream.on("error", () => {}).resume();
    try {
      const waited = await waitFor(program.exitCode, { ms: LONGEST_MS, signal });
      if (waited.at !== "ended") await killTree(program);
      if (waited.at === "late") this.#complain(`it took longer than ${LONGEST_MS / 1_000} seconds and was ended`);
      if (waited.at === "ended" && waited.value !== 0) this.#complain(`it exited with code ${waited.value}`);
    } finally {
      program.close({ everythingIsGone: await endStragglers(program) });
      launch.release();
      gone();
    }
  }

  #complain(why: string): void {
    if (this.#reported.has(why)) return;
    this.#reported.add(why);
    this.#report(`the program of \`notify\` in config.toml: ${why}`);
  }
}

function payloadOf({ settings, turn, inputMessages, lastMessage }: CompletedTurn) {
  return {
    type: "agent-turn-complete",
    "thread-id": turn.threadId,
    "turn-id": turn.turnId,
    cwd: settings.cwd,
    "input-messages": inputMessages,
    "last-assistant-message": lastMessage,
  };
}

/** Passes the turn through; `tell` is called with the last message just before the completion is published, and for no other end. */
export async function* notifyingCompletion(
  turn: AsyncIterable<readonly ThreadEvent[]>,
  tell: (lastMessage: string | null) => void,
): AsyncGenerator<readonly ThreadEvent[]> {
  for await (const batch of turn) {
    const last = batch.at(-1);
    if (last?.type === "turnCompleted") tell(last.lastMessage);
    yield batch;
  }
}
