import type { ReviewTarget } from "../../../threads/events.js";
import { givesStructured } from "../structuredSwitch.js";
import { arg, defineTool } from "../tool.js";
import { CliArgumentsInvalid, parseCliArguments } from "./cliArguments.js";
import { type CliTool, cliAnswer, cliRefusal, cliTurn } from "./cliResults.js";

const TOOL: CliTool = { name: "review", attempt: "Failed to execute code review" };

/** A review turn. */
export const reviewCliTool = defineTool({
  name: TOOL.name,
  title: "Code Review",
  description: "Has Codex review changes in a git repository and returns what it found. It changes nothing.",
  input: {
    prompt: arg.optional(arg.text("What to pay attention to or, without a target, what to review. Not together with uncommitted.")),
    uncommitted: arg.optional(arg.flag("Review staged, unstaged and untracked changes.")),
    base: arg.optional(arg.text("Review what changed since this branch.")),
    commit: arg.optional(arg.text("Review what this commit changes.")),
    title: arg.optional(arg.text("What the review is about, in a line.")),
    model: arg.optional(arg.text("Omit unless the user names one.")),
    workingDirectory: arg.optional(arg.text("The repository.")),
  },
  annotations: { title: "Code Review", readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: true },
  sets: ["codex-cli"],
  order: 2,
  listsNothingRequired: true,
  ignoresUnknown: true,
  parse: parseCliArguments,
  refusal: cliRefusal(TOOL),
  answers: "the review; `_meta` of the text has `model`, `base`, `commit`",
  example: { base: "main", prompt: "Focus on security." },
  async call({ workingDirectory: cwd, model: named, ...asked }, { agent, ask, turnId, env }) {
    const { target, focus } = targetOf(asked);
    const model = named ?? (env["CODEX_DEFAULT_MODEL"] || undefined);
    const begun = await agent.review(ask, target, { cwd, model, takesAnyModel: true, focus, turnId });
    const { base, commit } = asked;
    const members = (used: string | undefined) => ({
      ...(used !== undefined && { model: used }),
      ...(base !== undefined && { base }),
      ...(commit !== undefined && { commit }),
    });
    const structured = givesStructured(env);
    if ("nothing" in begun) return cliAnswer(begun.nothing, members(model), { structured });
    return {
      turn: begun,
      startText: "Starting code review...",
      present: cliTurn({
        ...TOOL,
        ifSilent: "No review output from Codex",
        structured,
        model,
        members: ({ receipt }) => members(receipt.inForce?.model),
      }),
    };
  },
});

interface AskedReview {
  readonly prompt: string | undefined;
  readonly uncommitted: boolean | undefined;
  readonly base: string | undefined;
  readonly commit: string | undefined;
  readonly title: string | undefined;
}

interface FocusedReview {
  readonly target: ReviewTarget;
  readonly focus?: string;
}

/** Empty strings count as absent. Throws `CliArgumentsInvalid` if the target is ambiguous or missing. */
function targetOf({ prompt, uncommitted = false, base, commit, title }: AskedReview): FocusedReview {
  if (uncommitted && prompt)
    throw invalid("The review prompt cannot be combined with uncommitted=true. Use a base/commit review or omit the prompt.");
  if (base && commit) throw invalid("base cannot be combined with commit. Use one of them.");
  if (uncommitted && (base || commit))
    throw invalid(`uncommitted=true cannot be combined with ${base ? "base" : "commit"}. Use one of them.`);
  if (commit) return withFocus({ type: "commit", sha: commit, ...(title && { title }) }, { prompt });
  if (base) return withFocus({ type: "baseBranch", branch: base }, { title, prompt });
  if (uncommitted) return withFocus({ type: "uncommittedChanges" }, { title });
  if (prompt) return withFocus({ type: "custom", instructions: prompt }, { title });
  throw invalid("No review target was given. Use uncommitted, base, commit or a prompt.");
}

function withFocus(target: ReviewTarget, { title, prompt }: { title?: string | undefined; prompt?: string | undefined }): FocusedReview {
  const focus = [title && `Title: ${title}`, prompt].filter((part) => part).join("\n");
  return focus === "" ? { target } : { target, focus };
}

function invalid(why: string): CliArgumentsInvalid {
  return new CliArgumentsInvalid(TOOL.name, why);
}
