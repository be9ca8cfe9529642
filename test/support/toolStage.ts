import { mkdir, writeFile } from "node:fs/promises";
import path from "node:path";
import { ApprovalDesk } from "../../src/approvals/desk.js";
import type { ApprovalDecision, ApprovalSubject } from "../../src/approvals/model.js";
import { Conversation } from "../../src/engines/native/conversation.js";
import { History } from "../../src/engines/native/history.js";
import { runTurn } from "../../src/engines/native/loop.js";
import { Machine } from "../../src/engines/native/tools/machine.js";
import { openToolbox } from "../../src/engines/native/tools/toolbox.js";
import { Workbench } from "../../src/engines/native/tools/workbench.js";
import { newThreadId } from "../../src/lib/ids.js";
import type { RawItem, SandboxMode, SandboxPolicy, ThreadEvent, ThreadSettings } from "../../src/threads/model.js";
import { CONTEXT } from "./conversations.js";
import { call, calls, PlannedModel, says } from "./modelDouble.js";
import { settingsIn } from "./rollouts.js";
import { type Stage, setStage, stageEnvironment } from "./stage.js";
import { turnContext } from "./turns.js";

export interface ToolStageOptions {
  readonly sandbox?: SandboxMode;
  readonly settings?: Partial<ThreadSettings>;
  readonly env?: Readonly<Record<string, string>>;
  readonly sandboxBin?: string;
  /** The text of a rules file. */
  readonly rules?: string;
}

export interface PlayedTurn {
  readonly events: readonly ThreadEvent[];
  /** What the model got for its first call. */
  readonly output: string;
  /** Everything that somebody was asked. */
  readonly asked: readonly ApprovalSubject[];
}

export interface PlayOptions {
  /** Decisions for the questions of the turn, in their order. */
  readonly answers?: readonly ApprovalDecision[];
  readonly signal?: AbortSignal;
  readonly onEvent?: (event: ThreadEvent) => void;
}

const POLICIES: Readonly<Record<SandboxMode, SandboxPolicy>> = {
  "read-only": { type: "read-only" },
  "workspace-write": { type: "workspace-write", network_access: false, exclude_tmpdir_env_var: false, exclude_slash_tmp: false },
  "danger-full-access": { type: "danger-full-access" },
};

/** A thread with all its tools in a workspace of its own: everything is real but the model. */
export async function openToolStage(options: ToolStageOptions = {}): Promise<ToolStage> {
  const stage = await setStage();
  if (options.rules !== undefined) {
    await mkdir(path.join(stage.codexHome, "rules"));
    await writeFile(path.join(stage.codexHome, "rules", "default.rules"), options.rules);
  }
  return new ToolStage(stage, options);
}

export class ToolStage implements AsyncDisposable {
  readonly model = new PlannedModel();
  readonly desk = new ApprovalDesk();
  readonly bench: Workbench;
  readonly conversation: Conversation;
  #lastCall = 0;

  constructor(
    readonly stage: Stage,
    { sandbox = "workspace-write", settings: changes, env, sandboxBin }: ToolStageOptions,
  ) {
    const threadId = newThreadId();
    const settings = settingsIn(stage.workspace, { model: "mock-model", sandboxPolicy: POLICIES[sandbox], ...changes });
    const machine = new Machine({
      codexHome: stage.codexHome,
      env: { ...stageEnvironment(stage, { name: "", about: "", steps: [] }, {}), ...env },
      serverCwd: stage.workspace,
      ...(sandboxBin === undefined ? {} : { sandboxBin }),
    });
    this.bench = new Workbench(settings, machine);
    this.conversation = new Conversation({
      threadId,
      settings,
      history: new History(CONTEXT),
      initialContext: CONTEXT,
      client: this.model,
      toolbox: openToolbox(this.bench),
      bench: this.bench,
      usage: null,
    });
  }

  path(name: string): string {
    return path.join(this.stage.workspace, name);
  }

  /** A turn in which the model calls one tool and then says "done". */
  use(tool: string, args: unknown, options: PlayOptions = {}): Promise<PlayedTurn> {
    return this.play([this.call(tool, args)], options);
  }

  /** The same with a script for bash. */
  script(text: string, options: PlayOptions & { readonly with?: Readonly<Record<string, unknown>> } = {}): Promise<PlayedTurn> {
    return this.use("shell", { command: ["bash", "-c", text], ...options.with }, options);
  }

  call(tool: string, args: unknown): RawItem {
    return call(tool, typeof args === "string" ? args : JSON.stringify(args), `call_${++this.#lastCall}`);
  }

  async play(items: readonly RawItem[], { answers = [], signal, onEvent }: PlayOptions = {}): Promise<PlayedTurn> {
    this.model.plan(calls(...items), says("done"));
    const left = [...answers];
    const events: ThreadEvent[] = [];
    const asked: ApprovalSubject[] = [];
    const take = (event: ThreadEvent): void => {
      events.push(event);
      onEvent?.(event);
      if (event.type !== "approvalRequested") return;
      asked.push(event.request.subject);
      const decision = left.shift();
      if (decision) this.desk.answer(event.request.id, decision);
      else if (!signal) throw new Error(`Nobody was to be asked: ${JSON.stringify(event.request.subject)}`);
    };
    const surroundings = { desk: this.desk, tell: take };
    for await (const batch of runTurn(this.conversation, { text: "go" }, turnContext(signal, surroundings))) batch.forEach(take);
    this.model.forget();
    return { events, asked, output: outputOf(events, items[0]?.["call_id"]) };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.bench.sessions.endAll();
    await this.stage[Symbol.asyncDispose]();
  }
}

function outputOf(events: readonly ThreadEvent[], callId: unknown): string {
  for (const event of events)
    if (event.type === "rawItem" && event.item.type.endsWith("_output") && event.item["call_id"] === callId)
      return String(event.item["output"]);
  return "";
}

/** The answer of the `shell` tool, taken apart. */
export function shellOutput({ output }: PlayedTurn): { readonly output: string; readonly exitCode: number } {
  const { output: text, metadata } = JSON.parse(output) as { output: string; metadata: { exit_code: number } };
  return { output: text, exitCode: metadata.exit_code };
}
