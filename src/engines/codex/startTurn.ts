import { assertNever } from "../../lib/assertNever.js";
import { isFields, textOrNothing } from "../../lib/fields.js";
import type { ReviewTarget, TurnInput, TurnWork } from "../../threads/events.js";
import type { ThreadSettings } from "../../threads/settings.js";
import type { AppServer } from "./appServer.js";
import type { ThreadGuard } from "./guard/threadGuard.js";
import { settingsUpdateParams, turnStartParams } from "./translate/settings.js";

/** Without a network Codex takes seconds to accept a turn. */
const ACCEPTANCE = { timeoutMs: 60_000 };

/** Stands for whatever runs. */
const WHATEVER_RUNS = "";

export interface TurnPlace {
  readonly server: AppServer;
  /** The thread's id in Codex. */
  readonly codexThreadId: string;
  readonly settings: ThreadSettings;
  readonly guard: ThreadGuard;
}

/** Begins a turn, and gives the id that Codex interrupts it by. */
export async function startTurn(input: TurnInput, place: TurnPlace): Promise<string> {
  if (input.work) return startWork(input.work, place);
  return requestTurn(input, place);
}

/** Lets the model answer what the thread holds already. */
export async function goOn(place: TurnPlace): Promise<string> {
  return requestTurn(undefined, place);
}

async function requestTurn(input: TurnInput | undefined, { server, codexThreadId, settings, guard }: TurnPlace): Promise<string> {
  return idOf(await server.request("turn/start", turnStartParams(codexThreadId, input, settings, guard), ACCEPTANCE));
}

function idOf(answer: unknown): string {
  const turn = isFields(answer) ? answer["turn"] : undefined;
  return (isFields(turn) ? textOrNothing(turn["id"]) : undefined) ?? WHATEVER_RUNS;
}

/** A review is interrupted by another id than the one that its answer tells, and the answer to a compaction tells none. */
async function startWork(work: TurnWork, { server, codexThreadId: threadId, settings, guard }: TurnPlace): Promise<string> {
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

/** Codex looks for the common ancestor with `git` itself; without it the reviewer, who runs commands, is told to. */
function targetFor(target: ReviewTarget, { withoutGit }: ThreadGuard): ReviewTarget {
  if (!withoutGit || target.type !== "baseBranch") return target;
  const { branch } = target;
  return {
    type: "custom",
    instructions:
      `Review the changes of the working tree against the branch ${JSON.stringify(branch)}. Find where they parted with \`git merge-base\` ` +
      "(take the branch's upstream where it has one), look at them with `git diff` against that commit, and report what should be mended first.",
  };
}
