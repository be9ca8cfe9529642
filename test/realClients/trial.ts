import { execFileSync } from "node:child_process";
import { copyFileSync, existsSync, readdirSync } from "node:fs";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { killMarked, processesMarked, RUN_MARK } from "../support/markedProcesses.js";
import { startResponsesServer } from "../support/responsesServer.js";
import { furnish, setStage, stageEnvironment } from "../support/stage.js";
import type { RealClient } from "./client.js";
import { ClientModel, type Script } from "./clientModel.js";
import { type ClientEnd, runClient } from "./clientRun.js";
import { again, endless, held, long, work } from "./conversations.js";
import { installClient, installNode } from "./install.js";
import { DRIVERS } from "./libraries.js";
import { firstThread, readWire, type WireMessage } from "./wire.js";

const SERVER = path.resolve("dist/main.js");
const TAP = path.resolve("test/realClients/tap.mjs");
const RUN_MS = 120_000;
const LOOK_MS = 100;
/** A command and a server that were told to end take a moment. */
const GRACE_MS = 5_000;

/** What was seen of one conversation. */
export interface Evidence {
  readonly results: readonly string[];
  readonly offered: readonly string[];
  readonly wire: readonly WireMessage[];
  readonly end: ClientEnd;
  /** Processes of ours that were still there when the client had ended and its grace was over. */
  readonly left: readonly string[];
}

/** What was seen of one client. */
export interface Trial {
  readonly work: Evidence & { readonly made: boolean; readonly touched: boolean };
  readonly again: Evidence;
  readonly held: Evidence & { readonly touched: boolean };
  readonly stop: Evidence & { readonly began: boolean };
  readonly long: Evidence | undefined;
}

export interface TrialOptions {
  /** How long the long turn takes; 0 leaves it out. */
  readonly longSeconds: number;
}

interface Round {
  readonly script: Script;
  readonly serverArgs?: readonly string[];
  readonly deadlineMs?: number;
  readonly interruptWhen?: (signal: AbortSignal) => Promise<void>;
}

/** Installs the client and lets its model play each conversation, with a server and folders of its own. */
export async function tryClient(client: RealClient, { longSeconds }: TrialOptions): Promise<Trial> {
  const [packages, node] = [await installClient(client), await installNode()];
  for (const file of readdirSync(DRIVERS)) copyFileSync(path.join(DRIVERS, file), path.join(packages, file));
  await using stage = await setStage();
  await using agentModel = await startResponsesServer({ keepRequests: false });
  await using model = new ClientModel();
  const address = await model.listen();
  await furnish(stage, { name: client.id, about: "", steps: [] }, { MOCK: agentModel.url });
  execFileSync("git", ["init", "--quiet", stage.workspace]);
  const mark = `client-${client.id}-${process.pid}`;
  const plain = stageEnvironment(stage, { name: "", about: "", steps: [] }, {});
  const env = { ...plain, PATH: `${node}:${plain["PATH"]}`, NO_PROXY: "127.0.0.1,localhost", NO_COLOR: "1", [RUN_MARK]: mark };
  const serverEnv = { PATH: plain["PATH"] ?? "", HOME: stage.home, CODEX_HOME: stage.codexHome, [RUN_MARK]: mark };
  let rounds = 0;

  async function play({ script, serverArgs = [], deadlineMs = RUN_MS, interruptWhen }: Round): Promise<Evidence> {
    const notes = path.join(stage.root, `wire-${rounds++}.jsonl`);
    const server = {
      command: process.execPath,
      args: [TAP, notes, process.execPath, SERVER, "--engine", "native", ...serverArgs],
      env: serverEnv,
    };
    model.play(script);
    const start = client.start({ packages, home: stage.home, workspace: stage.workspace, server, model: address });
    const end = await runClient(start, { cwd: stage.workspace, env, deadlineMs, ...(interruptWhen && { interruptWhen }) });
    const left = await leftBehind(mark);
    killMarked(mark);
    return { results: model.results, offered: model.offered, wire: readWire(notes), end, left };
  }

  try {
    const outside = path.join(stage.root, "outside");
    const asked = path.join(stage.root, "asked");
    const seconds = 100_000 + (process.pid % 100_000);
    const worked = await play({ script: work({ outside }) });
    const earlier = firstThread(worked.wire);
    return {
      work: { ...worked, made: existsSync(path.join(stage.workspace, "made.txt")), touched: existsSync(outside) },
      again: await play({ script: again(earlier) }),
      held: {
        ...(await play({ script: held({ outside: asked }), serverArgs: ["--approval-fallback", "hold"] })),
        touched: existsSync(asked),
      },
      stop: await stopped(seconds),
      long: longSeconds > 0 ? await play({ script: long(longSeconds), deadlineMs: RUN_MS + 4 * longSeconds * 1000 }) : undefined,
    };
  } finally {
    killMarked(mark);
  }

  async function stopped(seconds: number): Promise<Trial["stop"]> {
    let began = false;
    const interruptWhen = async (signal: AbortSignal) => {
      while (!signal.aborted && !began) {
        began = processesMarked(mark).some(({ commandLine }) => isCommand(commandLine, seconds));
        if (!began) await sleep(LOOK_MS);
      }
    };
    const evidence = await play({ script: endless(seconds), interruptWhen });
    return { ...evidence, began };
  }
}

function isCommand(commandLine: string, seconds: number): boolean {
  return commandLine.endsWith(`sleep ${seconds}`);
}

/** Clients may leave helpers of their own; what counts is our server and what it started. */
async function leftBehind(mark: string): Promise<readonly string[]> {
  const ours = (commandLine: string) => commandLine.includes(SERVER) || /\bsleep \d{6}/.test(commandLine);
  const until = performance.now() + GRACE_MS;
  for (;;) {
    const left = processesMarked(mark).filter(({ commandLine }) => ours(commandLine));
    if (left.length === 0 || performance.now() >= until) return left.map(({ commandLine }) => commandLine);
    await sleep(LOOK_MS);
  }
}
