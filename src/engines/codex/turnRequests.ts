import { RpcError } from "../../jsonrpc/errors.js";
import { assertNever } from "../../lib/assertNever.js";
import { isFields, textOrNothing } from "../../lib/fields.js";
import { valueWithin } from "../../lib/promises.js";
import type { ReviewTarget, TurnInput, TurnWork } from "../../threads/events.js";
import type { ThreadSettings } from "../../threads/settings.js";
import type { AppServer } from "./appServer/appServer.js";
import { CodexRefused, codexRefusal } from "./appServer/errors.js";
import type { ThreadGuard } from "./guard/threadGuard.js";
import { inputParams, settingsUpdateParams, turnStartParams } from "./translate/settings.js";

/** Without a network Codex takes seconds to accept a turn. */
const ACCEPTANCE = { timeoutMs: 60_000 };
/** A Codex that has not stopped a turn by then is considered hung. */
const STOP_MS = 10_000;
const INTERRUPT_AGAIN_MS = 250;

/** An empty turn id means: whatever runs. */
const WHATEVER_RUNS = "";

/** What a turn needs from the running Codex. */
type TurnServer = Pick<AppServer, "request" | "checkAlive" | "kill" | "isGone">;

/** A thread that is loaded in a Codex. */
export interface ThreadInCodex {
  readonly server: TurnServer;
  /** The thread's id in Codex. */
  readonly codexThreadId: string;
  readonly settings: ThreadSettings;
  readonly guard: ThreadGuard;
  /** Its turns name the model, because the thread was loaded with another one. */
  readonly namesModel?: boolean;
  readonly canCleanTerminals: boolean;
}

/** Starts a turn and returns the id for interrupting it. */
export async function startTurn(input: TurnInput, thread: ThreadInCodex): Promise<string> {
  if (input.work) return startWork(input.work, thread);
  return requestTurn(input, thread);
}

/** Lets the model respond to what the thread already contains. */
export async function continueTurn(thread: ThreadInCodex): Promise<string> {
  return requestTurn(undefined, thread);
}

/** Sends text to a thread whose turn has ended in Codex. Throws `CodexRefused` for a text that Codex does not accept. */
export async function addTurn(text: string, thread: ThreadInCodex): Promise<boolean> {
  try {
    await requestTurn({ text }, thread);
    return true;
  } catch (error) {
    throw codexRefusal(error, "take the message into the running turn");
  }
}

interface TurnToSteer extends Pick<ThreadInCodex, "server" | "codexThreadId"> {
  /** The turn's id in Codex, once accepted. */
  readonly started: Promise<string>;
}

/** Adds text to a running turn. False when Codex has no such turn. Throws `CodexRefused` for a text that Codex does not accept. */
export async function steerTurn(text: string, { server, codexThreadId, started }: TurnToSteer): Promise<boolean> {
  const expectedTurnId = await started.catch(() => undefined);
  if (expectedTurnId === undefined) return false;
  try {
    await server.request("turn/steer", { ...inputParams(codexThreadId, { text }), expectedTurnId });
    return true;
  } catch (error) {
    if (!(error instanceof RpcError)) throw error;
    if (TAKES_NOTHING.test(error.message)) return false;
    throw new CodexRefused(`Codex did not take the message into the running turn: ${error.message}`, { cause: error });
  }
}

const TAKES_NOTHING = /no active turn|expected active turn|cannot steer/i;

interface TurnToStop extends TurnToSteer, Pick<ThreadInCodex, "canCleanTerminals"> {
  /** Settles when Codex reports that the turn is over. */
  readonly completed: Promise<unknown>;
  /** The threads of the agents that may work for it; their number may still grow. */
  readonly agents: () => readonly string[];
  /** Codex would start another turn for its goal. */
  readonly hasGoal: boolean;
}

/**
 * Ends a turn, its commands and its agents, which Codex leaves running when a turn is interrupted. Never rejects: a Codex that does not
 * comply is killed.
 */
export async function stopTurn(turn: TurnToStop): Promise<void> {
  const obeyed = interruptAndClean(turn).then(
    () => true,
    () => turn.server.isGone,
  );
  if (await valueWithin(STOP_MS, obeyed, false)) return;
  await turn.server.kill("The Codex process was ended because it did not stop a turn when asked to.");
}

async function requestTurn(input: TurnInput | undefined, thread: ThreadInCodex): Promise<string> {
  const { server, codexThreadId, settings, guard, namesModel = false } = thread;
  const model = namesModel && !settings.modelIsDefault ? { model: settings.model } : {};
  return idOf(await server.request("turn/start", { ...turnStartParams(codexThreadId, input, settings, guard), ...model }, ACCEPTANCE));
}

function idOf(answer: unknown): string {
  const turn = isFields(answer) ? answer["turn"] : undefined;
  return (isFields(turn) ? textOrNothing(turn["id"]) : undefined) ?? WHATEVER_RUNS;
}

/** A review is interrupted by another id than the one in its response, and the response to a compaction has no id. */
async function startWork(work: TurnWork, { server, codexThreadId: threadId, settings, guard }: ThreadInCodex): Promise<string> {
  await server.request("thread/settings/update", settingsUpdateParams(threadId, settings, guard), ACCEPTANCE);
  switch (work.kind) {
    case "compact":
      await server.request("thread/compact/start", { threadId }, ACCEPTANCE);
      return WHATEVER_RUNS;
    case "review":
      await server.request("review/start", { threadId, target: targetFor(work.target, guard), delivery: "inline" }, ACCEPTANCE);
      return WHATEVER_RUNS;
    default:
      return assertNever(work);
  }
}

/**
 * Codex finds the common ancestor with `git` itself; where that is disabled, the reviewer, which runs commands, is instructed to find it.
 */
function targetFor(target: ReviewTarget, { withoutGit }: ThreadGuard): ReviewTarget {
  if (!withoutGit || target.type !== "baseBranch") return target;
  const { branch } = target;
  return {
    type: "custom",
    instructions:
      `Review the changes of the working tree against the branch ${JSON.stringify(branch)}. Find where they parted with \`git merge-base\` ` +
      "(take the branch's upstream where it has one), look at them with `git diff` against that commit, and report what should be fixed first.",
  };
}

async function interruptAndClean(turn: TurnToStop): Promise<void> {
  const { server, codexThreadId: threadId, started, completed, hasGoal } = turn;
  if (hasGoal) await server.request("thread/goal/set", { threadId, status: "paused", origin: "user" }).catch(tolerateRefusal);
  const turnId = await started.catch((error: unknown) => (error instanceof RpcError ? undefined : WHATEVER_RUNS));
  if (turnId !== undefined) await interruptUntil(completed, { threadId, turnId }, server);
  await cleanTerminals(threadId, turn);
  await stopAgents(turn, new Set());
}

/** A stopped agent cannot start another; those it started before are stopped in the next round. */
async function stopAgents(turn: TurnToStop, stopped: Set<string>): Promise<void> {
  const agents = turn.agents().filter((threadId) => !stopped.has(threadId));
  if (agents.length === 0) return;
  await Promise.all(
    agents.map(async (threadId) => {
      stopped.add(threadId);
      await turn.server.request("turn/interrupt", { threadId, turnId: WHATEVER_RUNS }).catch(tolerateRefusal);
      await cleanTerminals(threadId, turn);
    }),
  );
  await stopAgents(turn, stopped);
}

async function cleanTerminals(threadId: string, { server, canCleanTerminals }: TurnToStop): Promise<void> {
  if (canCleanTerminals) await server.request("thread/backgroundTerminals/clean", { threadId }).catch(tolerateRefusal);
}

/** Repeats until the turn is over: Codex refuses or ignores an interrupt for a turn that has not begun yet or has already ended. */
async function interruptUntil(completed: Promise<unknown>, turn: { threadId: string; turnId: string }, server: TurnServer): Promise<void> {
  const over = completed.then(() => true);
  for (let waitMs = 0; !(server.isGone || (await valueWithin(waitMs, over, false))); waitMs = INTERRUPT_AGAIN_MS)
    server.request("turn/interrupt", turn, { timeoutMs: STOP_MS }).catch(() => undefined);
}

function tolerateRefusal(error: unknown): void {
  if (!(error instanceof RpcError)) throw error;
}
