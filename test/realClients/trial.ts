import { execFileSync } from "node:child_process";
import { copyFileSync, existsSync, readdirSync } from "node:fs";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { startResponsesServer } from "../support/model/responsesServer.js";
import { killMarked, processesMarked, RUN_MARK } from "../support/processes/markedProcesses.js";
import { furnish, setStage, stageEnvironment } from "../support/stage.js";
import type { RealClient, Way } from "./client.js";
import { ClientModel, type Script } from "./clientModel.js";
import { type ClientEnd, runClient } from "./clientRun.js";
import { again, endless, held, long, work } from "./conversations.js";
import { type HttpSide, openHttpSide } from "./httpSide.js";
import { installClient, installNode } from "./install.js";
import { DRIVERS } from "./libraries.js";
import { firstThread, readWire, type WireMessage } from "./wire.js";

const SERVER = path.resolve("dist/main.js");
const TAP = path.resolve("test/realClients/tap.mjs");
const RUN_MS = 120_000;
const LOOK_MS = 100;
/** An ended command and server need a moment. Over HTTP the server must also notice that its client has gone. */
const GRACE_MS = { stdio: 5_000, http: 20_000 } as const;
/** In the long turn the agent's model is silent for longer than the usual limit. */
const PROVIDER = "request_max_retries = 0\nstream_max_retries = 0\nstream_idle_timeout_ms = 3600000";
/** Both settings are a minute by default; the tests need not wait that long for the threads of a lost client. */
const GONE_MS = 2_000;
const GONE = ["vanished_client_seconds", "attended_seconds"].flatMap((name) => ["-c", `mcp_server.http.${name}=${GONE_MS / 1000}`]);
/** Over HTTP the server asks for approval only where full access is allowed. */
const HTTP_ARGS = ["--port", "0", "--max-sandbox", "danger-full-access", ...GONE];

/** The records of one conversation. */
export interface Evidence {
  readonly results: readonly string[];
  readonly offered: readonly string[];
  readonly wire: readonly WireMessage[];
  readonly end: ClientEnd;
  /** Our processes that were still running after the client had ended and the time of grace was over. */
  readonly left: readonly string[];
}

/** The records of one client. */
export interface Trial {
  readonly work: Evidence & { readonly made: boolean; readonly touched: boolean };
  readonly again: Evidence;
  readonly held: Evidence & { readonly touched: boolean };
  readonly stop: Evidence & { readonly began: boolean };
  readonly long: (Evidence & { readonly seconds: number }) | undefined;
}

export interface TrialOptions {
  readonly way: Way;
  /** The length of the long turn; 0 omits it. */
  readonly longSeconds: number;
}

interface Round {
  readonly script: Script;
  readonly serverArgs?: readonly string[];
  /** Over HTTP: the running server of an earlier round. */
  readonly side?: HttpSide | undefined;
  readonly deadlineMs?: number;
  readonly interruptWhen?: (signal: AbortSignal) => Promise<void>;
}

/** Installs the client and plays each conversation with a server and folders of its own. */
export async function tryClient(client: RealClient, { way, longSeconds }: TrialOptions): Promise<Trial> {
  const [packages, node] = [await installClient(client), await installNode()];
  for (const file of readdirSync(DRIVERS)) copyFileSync(path.join(DRIVERS, file), path.join(packages, file));
  await using stage = await setStage();
  await using agentModel = await startResponsesServer({ keepRequests: false });
  await using model = new ClientModel();
  const address = await model.listen();
  await furnish(stage, { name: client.id, about: "", steps: [], provider: PROVIDER }, { MOCK: agentModel.url });
  execFileSync("git", ["init", "--quiet", stage.workspace]);
  const mark = `client-${client.id}-${process.pid}`;
  const plain = stageEnvironment(stage, { name: "", about: "", steps: [] }, {});
  const env = { ...plain, PATH: `${node}:${plain["PATH"]}`, NO_PROXY: "127.0.0.1,localhost", NO_COLOR: "1", [RUN_MARK]: mark };
  const serverEnv = { PATH: plain["PATH"] ?? "", HOME: stage.home, CODEX_HOME: stage.codexHome, [RUN_MARK]: mark };
  let rounds = 0;

  async function play({ script, serverArgs = [], side, deadlineMs = RUN_MS, interruptWhen }: Round): Promise<Evidence> {
    if (way === "http" && !side) {
      await using own = await listen(serverArgs);
      return await play({ script, side: own, deadlineMs, ...(interruptWhen && { interruptWhen }) });
    }
    const notes = path.join(stage.root, `wire-${rounds++}.jsonl`);
    const started = {
      command: process.execPath,
      args: [TAP, notes, process.execPath, SERVER, "--engine", "native", ...serverArgs],
      env: serverEnv,
    };
    const server = side ? { url: side.url } : started;
    model.play(script);
    const start = client.start({ packages, home: stage.home, workspace: stage.workspace, server, model: address });
    const end = await runClient(start, { cwd: stage.workspace, env, deadlineMs, ...(interruptWhen && { interruptWhen }) });
    const left = await leftBehind(mark, way);
    if (!side) killMarked(mark);
    return { results: model.results, offered: model.offered, wire: side?.takeWire() ?? readWire(notes), end, left };
  }

  function listen(serverArgs: readonly string[]): Promise<HttpSide> {
    const args = [SERVER, "serve", "--engine", "native", ...HTTP_ARGS, ...serverArgs];
    return openHttpSide({ args, cwd: stage.workspace, env: serverEnv });
  }

  try {
    const outside = path.join(stage.root, "outside");
    const asked = path.join(stage.root, "asked");
    const seconds = 100_000 + (process.pid % 100_000);
    return {
      ...(await workedTwice(outside)),
      held: {
        ...(await play({ script: held({ outside: asked }), serverArgs: ["--approval-fallback", "hold"] })),
        touched: existsSync(asked),
      },
      stop: await stopped(seconds),
      long: longSeconds > 0 ? await playedLong() : undefined,
    };
  } finally {
    killMarked(mark);
  }

  /** Over HTTP the second run uses the server of the first. */
  async function workedTwice(outside: string): Promise<Pick<Trial, "work" | "again">> {
    await using side = way === "http" ? await listen([]) : undefined;
    const worked = await play({ script: work({ outside }), side });
    // Few clients close their session; until it expires, the session keeps its threads.
    if (side) await sleep(GONE_MS);
    return {
      work: { ...worked, made: existsSync(path.join(stage.workspace, "made.txt")), touched: existsSync(outside) },
      again: await play({ script: again(firstThread(worked.wire)), side }),
    };
  }

  async function playedLong(): Promise<Trial["long"]> {
    const evidence = await play({ script: long(longSeconds), deadlineMs: RUN_MS + 4 * longSeconds * 1000 });
    return { ...evidence, seconds: longSeconds };
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

/** A client may leave helpers of its own. Only our server and its processes count, unless the server also listens for others. */
async function leftBehind(mark: string, way: Way): Promise<readonly string[]> {
  const ours = (commandLine: string) => (way === "stdio" && commandLine.includes(SERVER)) || /\bsleep \d{6}/.test(commandLine);
  const until = performance.now() + GRACE_MS[way];
  for (;;) {
    const left = processesMarked(mark).filter(({ commandLine }) => ours(commandLine));
    if (left.length === 0 || performance.now() >= until) return left.map(({ commandLine }) => commandLine);
    await sleep(LOOK_MS);
  }
}
