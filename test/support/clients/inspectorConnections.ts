import { existsSync } from "node:fs";
import { shellQuote } from "../../../src/exec/safety/bash/words.js";
import { killMarked, RUN_MARK, stragglers } from "../processes/markedProcesses.js";
import { runToEnd } from "../processes/runToEnd.js";
import { ServerProcess } from "../processes/serverProcess.js";
import { isRecord, valueAt } from "../scenarios/scenario.js";

type Json = Readonly<Record<string, unknown>>;

/** Gives a program a terminal. The inspector reports an interrupted call only in a terminal. */
const TERMINAL = "/usr/bin/script";
const CTRL_C = "\x03";
const PATIENCE_MS = 45_000;
const GRACE_MS = 3_000;

export const HAS_TERMINAL = process.platform === "linux" && existsSync(TERMINAL);

export interface InspectorStart {
  readonly node: string;
  /** `mcpdo`, the inspector's command line for connections that stay. */
  readonly program: string;
  /** With a mark of its own, which its children inherit. */
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string;
}

/** How to reach a server. */
export interface InspectorTarget {
  readonly server: readonly string[];
  readonly options: readonly string[];
  readonly era: string;
}

/** A question that a call waits for. */
export interface InspectorQuestion {
  readonly id: string;
  readonly message: unknown;
}

/** The inspector's connections: a background process keeps them open, and each command line does one action on one of them. */
export class InspectorConnections implements AsyncDisposable {
  constructor(private readonly start: InspectorStart) {}

  async connect(name: string, { server, options, era }: InspectorTarget): Promise<void> {
    const opened = await this.#run(["--connection", name, "connect", "--era", era, ...options, "--", ...server]);
    if (valueAt(opened, "protocolEra") !== era) throw new Error(`The inspector did not connect: ${JSON.stringify(opened)}`);
  }

  async disconnect(name: string): Promise<void> {
    await this.#run(["disconnect", name]);
  }

  /** The result of a call, as the inspector prints it. */
  call(name: string, tool: string, args: Json): Promise<Json> {
    return this.#run(callOn(name, tool, args));
  }

  /** A call that must lead to a question. */
  async callUntilAsked(name: string, tool: string, args: Json): Promise<InspectorQuestion> {
    const printed = await this.call(name, tool, args);
    const id = valueAt(printed, "elicitationPending.elicitationId");
    if (typeof id !== "string") throw new Error(`Nothing was asked: ${JSON.stringify(printed)}`);
    return { id, message: valueAt(printed, "elicitationPending.message") };
  }

  /** The result of the waiting call after an answer: the form's fields, or a refusal. */
  answer({ id }: InspectorQuestion, answer: Json | "--cancel"): Promise<Json> {
    return this.#run(["elicitation/respond", id, typeof answer === "string" ? answer : JSON.stringify(answer)]);
  }

  task(name: string, what: "get" | "cancel", taskId: string): Promise<Json> {
    return this.#run(["--connection", name, `tasks/${what}`, taskId]);
  }

  /** A call by a person who presses Ctrl-C once `begun` resolves. Returns the terminal's output until the command line ended. */
  async callBrokenOff(name: string, { tool, args, begun }: { tool: string; args: Json; begun: () => Promise<unknown> }): Promise<string> {
    const { node, program, env, cwd } = this.start;
    const shown: string[] = [];
    const typed = shellQuote([node, program, ...callOn(name, tool, args)]);
    const terminal = new ServerProcess(
      { program: TERMINAL, args: ["-qec", `exec ${typed}`, "/dev/null"], cwd, env },
      { onLine: (line) => shown.push(line), onErrorLine: (line) => shown.push(line) },
    );
    try {
      await begun();
      terminal.write(CTRL_C);
      if (!(await terminal.waitForEnd(PATIENCE_MS))) throw new Error(`The call did not end: ${shown.join("\n")}`);
      return shown.join("\n");
    } finally {
      terminal.kill("SIGKILL");
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const mark = this.start.env[RUN_MARK] ?? "";
    try {
      await this.#run(["daemon", "stop"]);
      await stragglers(mark, { graceMs: GRACE_MS });
    } finally {
      killMarked(mark);
    }
  }

  /** Fails if nothing readable was printed; a tool's failure is readable. */
  async #run(args: readonly string[]): Promise<Json> {
    const { node, program, env, cwd } = this.start;
    const { code, stdout, stderr } = await runToEnd([node, program, "--format", "json", ...args], { env, cwd, timeoutMs: PATIENCE_MS });
    const printed: unknown = stdout.trim() === "" ? undefined : JSON.parse(stdout);
    if (isRecord(printed)) return printed;
    throw new Error(`mcpdo ${args.join(" ")} ended with ${code}: ${stderr.trim() || stdout.trim()}`);
  }
}

function callOn(name: string, tool: string, args: Json): string[] {
  return ["--connection", name, "tools/call", tool, "--tool-args-json", JSON.stringify(args)];
}
