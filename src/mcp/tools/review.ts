import { InvalidArguments } from "../../agent/errors.js";
import { SANDBOX_MODES } from "../../exec/policies.js";
import { parseThreadId } from "../../lib/uuid.js";
import type { ReviewTarget } from "../../threads/events.js";
import type { Turn } from "../../threads/turn.js";
import { answer, type DraftResult } from "../wording/callResult.js";
import { arg, defineTool, onThread, TURN_OUTPUT, type TurnAnswer, WAIT_ARGUMENT } from "./tool.js";

/** A turn that looks at changes, on a thread of its own or an older one. */
export const reviewTool = defineTool({
  name: "codex-review",
  title: "Codex Review",
  description: "Reviews changes in a git repository and returns the findings.",
  input: {
    branch: arg.optional(arg.text("For `branch`: what to compare with.")),
    commit: arg.optional(arg.text("For `commit`: its hash.")),
    cwd: arg.optional(arg.text("Working directory of a new thread.")),
    instructions: arg.optional(arg.text("For `custom`: what to review.")),
    model: arg.optional(arg.text("The model of a new thread.")),
    sandbox: arg.optional(arg.choice(SANDBOX_MODES, "The sandbox of a new thread.")),
    target: arg.choice(
      ["uncommitted", "branch", "commit", "custom"],
      "Uncommitted changes, all since a branch, one commit, or custom instructions.",
    ),
    threadId: arg.optional(arg.text("Review on this thread instead of a new one.")),
    wait: WAIT_ARGUMENT,
  },
  output: TURN_OUTPUT,
  annotations: { destructiveHint: false },
  sets: ["codex"],
  order: 3,
  answers: "the review; the thread can be asked about it",
  example: { target: "branch", branch: "main", cwd: "." },
  async call({ threadId, cwd, model, sandbox, wait, ...asked }, { agent, ask, turnId }) {
    const target = targetOf(asked);
    if (threadId === undefined) return reviewAnswer(await agent.review(ask, target, { cwd, model, sandbox, turnId }), { wait });
    if ((cwd ?? model ?? sandbox) !== undefined)
      throw new InvalidArguments("A thread keeps its settings: give `threadId`, or `cwd`, `model` and `sandbox` for a new thread.");
    const id = parseThreadId(threadId);
    return onThread(id, async () => reviewAnswer(await agent.review(ask, target, { threadId: id }), { threadId: id, wait }));
  },
});

/** Without changes there is nothing to ask a model, and no thread is opened. */
function reviewAnswer(
  begun: Turn | { readonly nothing: string },
  { threadId = "", wait }: { readonly threadId?: string; readonly wait: number | undefined },
): DraftResult | TurnAnswer {
  return "nothing" in begun ? answer(begun.nothing, { threadId, content: begun.nothing, status: "completed" }) : { turn: begun, wait };
}

interface AskedTarget {
  readonly target: "uncommitted" | "branch" | "commit" | "custom";
  readonly branch: string | undefined;
  readonly commit: string | undefined;
  readonly instructions: string | undefined;
}

function targetOf({ target, branch, commit, instructions }: AskedTarget): ReviewTarget {
  switch (target) {
    case "uncommitted":
      return { type: "uncommittedChanges" };
    case "branch":
      return { type: "baseBranch", branch: given("branch", branch) };
    case "commit":
      return { type: "commit", sha: given("commit", commit) };
    case "custom":
      return { type: "custom", instructions: given("instructions", instructions) };
  }
}

function given(name: string, value: string | undefined): string {
  if (value === undefined || value.trim() === "") throw new InvalidArguments(`This target needs \`${name}\`.`);
  return value;
}
