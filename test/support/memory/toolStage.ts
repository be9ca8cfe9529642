import { mkdir, writeFile } from "node:fs/promises";
import path from "node:path";
import { MemoryApprovalDesk } from "../../../src/approvals/desk.js";
import type { ApprovalDecision, ApprovalSubject } from "../../../src/approvals/model.js";
import { Conversation, type ConversationParts } from "../../../src/engines/native/conversation.js";
import { History } from "../../../src/engines/native/model/items.js";
import { openThreadTools, type ThreadTools } from "../../../src/engines/native/threadTools.js";
import { HostEnvironment } from "../../../src/engines/native/tools/hostEnvironment.js";
import { runTurn } from "../../../src/engines/native/turn.js";
import { WritablePlaces } from "../../../src/exec/outside/outsidePrograms.js";
import type { SandboxMode, SandboxPolicy } from "../../../src/exec/policies.js";
import { newThreadId } from "../../../src/lib/ids.js";
import type { ThreadEvent } from "../../../src/threads/events.js";
import type { RawItem } from "../../../src/threads/items.js";
import type { ThreadSettings } from "../../../src/threads/settings.js";
import { CONTEXT } from "../clients/conversations.js";
import { call, calls, PlannedModel, says } from "../model/modelDouble.js";
import { type Stage, setStage, stageEnvironment } from "../stage.js";
import { settingsIn } from "../threads/rollouts.js";
import { turnContext } from "../threads/turns.js";

export interface ToolStageOptions {
  readonly sandbox?: SandboxMode;
  readonly settings?: Partial<ThreadSettings>;
  readonly env?: Readonly<Record<string, string>>;
  readonly sandboxBin?: string;
  /** Files that no command may read, by their paths in the workspace. */
  readonly secretFiles?: readonly string[];
  /** The text of a rules file. */
  readonly rules?: string;
}

export interface PlayedTurn {
  readonly events: readonly ThreadEvent[];
  /** The model's result of its first call. */
  readonly output: string;
  /** All questions. */
  readonly asked: readonly ApprovalSubject[];
}

export interface PlayOptions {
  /** Decisions for the questions of the turn, in their order. */
  readonly answers?: readonly ApprovalDecision[];
  readonly signal?: AbortSignal;
  /** Commands of the turn may not leave the sandbox. */
  readonly confined?: boolean;
  readonly onEvent?: (event: ThreadEvent) => void;
}

const POLICIES: Readonly<Record<SandboxMode, SandboxPolicy>> = {
  "read-only": { type: "read-only" },
  "workspace-write": { type: "workspace-write", network_access: false, exclude_tmpdir_env_var: false, exclude_slash_tmp: false },
  "danger-full-access": { type: "danger-full-access" },
};

/** A thread with all its tools in its own workspace: everything is real except the model. */
export async function openToolStage(options: ToolStageOptions = {}): Promise<ToolStage> {
  const stage = await setStage();
  if (options.rules !== undefined) {
    await mkdir(path.join(stage.codexHome, "rules"));
    await writeFile(path.join(stage.codexHome, "rules", "default.rules"), options.rules);
  }
  const settings = settingsIn(stage.workspace, {
    model: "mock-model",
    asRecorded: true,
    sandboxPolicy: POLICIES[options.sandbox ?? "workspace-write"],
    ...options.settings,
  });
  const host = new HostEnvironment({
    codexHome: stage.codexHome,
    env: { ...stageEnvironment(stage, { name: "", about: "", steps: [] }, {}), ...options.env },
    serverCwd: stage.workspace,
    writable: new WritablePlaces([]),
    secretFiles: options.secretFiles ?? [],
    ...(options.sandboxBin === undefined ? {} : { sandboxBin: options.sandboxBin }),
  });
  const sandboxBackend = await host.sandboxBackend(settings.sandboxPolicy);
  return new ToolStage(stage, host, { settings, threadTools: await openThreadTools(settings, host), sandboxBackend });
}

export class ToolStage implements AsyncDisposable {
  readonly model = new PlannedModel();
  readonly desk = new MemoryApprovalDesk();
  readonly threadTools: ThreadTools;
  readonly conversation: Conversation;
  #lastCall = 0;

  constructor(
    readonly stage: Stage,
    readonly host: HostEnvironment,
    parts: Pick<ConversationParts, "settings" | "threadTools" | "sandboxBackend">,
  ) {
    this.threadTools = parts.threadTools;
    this.conversation = new Conversation({
      ...parts,
      threadId: newThreadId(),
      history: new History(CONTEXT),
      initialContext: CONTEXT,
      client: this.model,
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

  async play(items: readonly RawItem[], { answers = [], signal, confined = false, onEvent }: PlayOptions = {}): Promise<PlayedTurn> {
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
      if (decision) void this.desk.answer(event.request.id, decision);
      else if (!signal) throw new Error(`No approval was expected: ${JSON.stringify(event.request.subject)}`);
    };
    const surroundings = { desk: this.desk, tell: take, confined };
    for await (const batch of runTurn(this.conversation, { text: "go" }, turnContext(signal, surroundings))) batch.forEach(take);
    this.model.forget();
    return { events, asked, output: outputOf(events, items[0]?.["call_id"]) };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.threadTools.close();
    await this.host.close();
    await this.stage[Symbol.asyncDispose]();
  }
}

function outputOf(events: readonly ThreadEvent[], callId: unknown): string {
  for (const event of events)
    if (event.type === "rawItem" && event.item.type.endsWith("_output") && event.item["call_id"] === callId)
      return String(event.item["output"]);
  return "";
}

/** The parsed answer of the `shell` tool. */
export function shellOutput({ output }: PlayedTurn): { readonly output: string; readonly exitCode: number } {
  const { output: text, metadata } = JSON.parse(output) as { output: string; metadata: { exit_code: number } };
  return { output: text, exitCode: metadata.exit_code };
}
