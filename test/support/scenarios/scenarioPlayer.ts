import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { startResponsesServer } from "../model/responsesServer.js";
import { killMarked, processesMarked, RUN_MARK, stragglers } from "../processes/markedProcesses.js";
import { fill, fillString, type Mask, maskOf } from "../processes/placeholders.js";
import { ServerProcess } from "../processes/serverProcess.js";
import { furnish, type Stage, setStage, stageEnvironment, workspaceFiles } from "../stage.js";
import { messageOn, Recorder } from "./recorder.js";
import { type Condition, fits, type Scenario, type Step, sameJson, valueAt } from "./scenario.js";
import type { Transcript } from "./transcript.js";

export interface PlayOptions {
  /** The server, without the scenario's own arguments. */
  readonly command: readonly [program: string, ...args: string[]];
  /** Messages that the reference never sent, in the order of the waits: these waits are short. */
  readonly silences?: readonly Condition[];
}

// The recordings used longer timeouts; here an expired wait is a failure, or expected.
const LONGEST_WAIT_MS = 30_000;
const VAIN_WAIT_MS = 700;
const LONGEST_SLEEP_MS = 200;
const LONGEST_QUIET_MS = 250;
const LONGEST_EXIT_MS = 30_000;
const STRAGGLERS_GRACE_MS = 3_000;

/** Ends a wait whose message can no longer arrive. */
const NOT_COMING = Symbol("not coming");

/** Plays the scenario against a server of its own, in folders and with a scripted model of its own; leaves nothing behind. */
export async function playScenario(scenario: Scenario, options: PlayOptions): Promise<Transcript> {
  await using stage = await setStage();
  await using model = await startResponsesServer();
  const play = new Play(scenario, stage, { ...options, modelUrl: model.url });
  try {
    await play.run();
  } finally {
    play.clear();
  }
  if (scenario.recordModel) for (const request of model.requests) play.recorder.modelRequest(request);
  return play.recorder.entries;
}

class Play {
  readonly recorder: Recorder;
  readonly #variables: Record<string, unknown>;
  readonly #silences: Condition[];
  readonly #command: PlayOptions["command"];
  readonly #mask: Mask;
  readonly #mark = randomUUID();
  #server: ServerProcess | undefined;
  #inbox: unknown[] = [];
  #stdinOpen = false;
  #refusesToEnd = false;

  constructor(
    private readonly scenario: Scenario,
    private readonly stage: Stage,
    { command, silences = [], modelUrl }: PlayOptions & { readonly modelUrl: string },
  ) {
    this.#command = command;
    this.#silences = [...silences];
    this.#variables = { WS: stage.workspace, CODEX_HOME: stage.codexHome, HOME: stage.home, MOCK: modelUrl };
    this.#mask = maskOf([
      [stage.workspace, "<WS>"],
      [stage.codexHome, "<CODEX_HOME>"],
      [stage.home, "<HOME>"],
      [modelUrl, "<MODEL_URL>"],
      [new URL(modelUrl).host, "<MODEL_HOST>"],
    ]);
    this.recorder = new Recorder(this.#mask);
  }

  async run(): Promise<void> {
    await furnish(this.stage, this.scenario, this.#variables);
    this.#boot();
    for (const step of this.scenario.steps) await this.#perform(step);
    await this.#finish();
  }

  /** Ends whatever the server and its children did not end themselves. */
  clear(): void {
    killMarked(this.#mark);
    this.#server?.kill("SIGKILL");
  }

  #boot(): void {
    const [program, ...args] = this.#command;
    const own = (this.scenario.args ?? []).map((arg) => fillString(arg, this.#variables));
    const env = { ...stageEnvironment(this.stage, this.scenario, this.#variables), [RUN_MARK]: this.#mark };
    this.#inbox = [];
    this.#stdinOpen = true;
    this.#refusesToEnd = false;
    this.#server = new ServerProcess(
      { program, args: [...args, ...own], cwd: this.stage.workspace, env },
      { onLine: (line) => this.#receive(line), onErrorLine: (line) => this.recorder.raw("err", line) },
    );
  }

  get #running(): ServerProcess {
    if (!this.#server) throw new Error("The server was not started.");
    return this.#server;
  }

  async #perform(step: Step): Promise<void> {
    if ("send" in step) this.#send(fill(step.send, this.#variables));
    else if ("raw" in step) this.#sendRaw(fillString(step.raw, this.#variables));
    else if ("wait" in step) await this.#waitFor(step);
    else if ("sleep" in step) await sleep(Math.min(step.sleep, LONGEST_SLEEP_MS));
    else if ("quiet" in step) await this.#running.waitForQuiet(Math.min(step.quiet, LONGEST_QUIET_MS));
    else if ("eof" in step) this.#closeStdin();
    else if ("signal" in step) this.#signal(step.signal);
    else if ("exit" in step) await this.#waitForExit(step.exit);
    else if ("restart" in step) await this.#restart();
    else if ("list" in step) this.recorder.remark({ files: await workspaceFiles(this.stage) });
    else this.recorder.remark({ processes: processesMarked(this.#mark).map((found) => found.commandLine) });
  }

  #receive(line: string): void {
    this.recorder.line("out", line);
    const message = messageOn(line);
    if (message !== undefined) this.#inbox.push(message);
  }

  #send(message: unknown): void {
    const text = JSON.stringify(message);
    if (/"\$\{\w+\}"/.test(text)) {
      // An unresolved variable: its value never arrived.
      this.recorder.remark({ notSent: message });
    } else {
      this.recorder.line("in", text);
      this.#running.write(`${text}\n`);
    }
  }

  #sendRaw(text: string): void {
    this.recorder.raw("in", text);
    this.#running.write(text);
  }

  async #waitFor(step: Extract<Step, { wait: unknown }>): Promise<void> {
    const condition = step.wait;
    const message = await this.#running.waitFor(
      () => this.#take(condition) ?? (this.#has(step.unless) ? NOT_COMING : undefined),
      this.#patienceFor(condition, step.timeout),
    );
    if (message === undefined || message === NOT_COMING) return this.recorder.remark({ noSuchMessage: condition });
    for (const [name, path] of Object.entries(step.save ?? {})) this.#variables[name] = valueAt(message, path);
  }

  #patienceFor(condition: Condition, timeoutMs = LONGEST_WAIT_MS): number {
    if (this.#silences[0] === undefined || !sameJson(this.#silences[0], condition)) return Math.min(timeoutMs, LONGEST_WAIT_MS);
    this.#silences.shift();
    return VAIN_WAIT_MS;
  }

  #take(condition: Condition): unknown {
    const at = this.#inbox.findIndex((message) => fits(message, condition));
    return at < 0 ? undefined : this.#inbox.splice(at, 1)[0];
  }

  #has(condition: Condition | undefined): boolean {
    return condition !== undefined && this.#inbox.some((message) => fits(message, condition));
  }

  #closeStdin(): void {
    this.#stdinOpen = false;
    this.recorder.remark({ eof: true });
    this.#running.closeStdin();
  }

  #signal(signal: NodeJS.Signals): void {
    this.recorder.remark({ signal });
    this.#running.kill(signal);
  }

  async #waitForExit(deadlineMs: number): Promise<void> {
    const end = await this.#running.waitForEnd(Math.min(deadlineMs, LONGEST_EXIT_MS));
    this.#refusesToEnd = end === undefined && !this.#stdinOpen;
    this.recorder.remark(end ? { exit: end } : { stillRunningAfterMs: deadlineMs });
    const left = await stragglers(this.#mark, { graceMs: end ? STRAGGLERS_GRACE_MS : 0 });
    this.recorder.remark({ processesLeft: left.map((found) => found.commandLine) });
  }

  /** Closes the connection as a client that is finished. */
  async #finish(): Promise<void> {
    if (this.#running.end || this.#refusesToEnd) return;
    if (this.#stdinOpen) this.#closeStdin();
    await this.#waitForExit(LONGEST_EXIT_MS);
  }

  async #restart(): Promise<void> {
    await this.#finish();
    this.clear();
    this.recorder.remark({ restart: true });
    this.#boot();
  }
}
