import { parseThreadId } from "../../../lib/uuid.js";
import type { ReviewTarget } from "../../../threads/events.js";
import type { Agent } from "../agent.js";
import { InvalidArguments, parseArguments, type ToolStruct } from "../arguments.js";
import { beginThread, continueThread } from "../beginTurn.js";
import schemas from "../schemas.generated.json" with { type: "json" };
import type { ReviewArguments } from "../schemas.js";
import type { ToolAction } from "../tool.js";
import { refusing } from "./answers.js";

const ARGUMENTS: ToolStruct<ReviewArguments> = { schema: schemas.reviewInput, tool: "codex-review" };

/** `codex-review`: a turn that looks at changes, on a thread of its own or an older one. */
export function reviewTool(agent: Agent): ToolAction {
  return refusing(async (args, call) => {
    const { threadId, cwd, model, sandbox, ...asked } = parseArguments(args, ARGUMENTS);
    const input = { text: "", work: { kind: "review", target: targetOf(asked) } } as const;
    if (threadId === undefined)
      return beginThread(agent, call, { input, settings: agent.settingsFor({ cwd, model, sandbox }, call.caller) });
    if ((cwd ?? model ?? sandbox) !== undefined)
      throw new InvalidArguments("A thread keeps its settings: give `threadId`, or `cwd`, `model` and `sandbox` for a new thread.");
    return continueThread(agent, call, { input, threadId: parseThreadId(threadId) });
  });
}

function targetOf({ target, branch, commit, instructions }: Omit<ReviewArguments, "threadId">): ReviewTarget {
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
