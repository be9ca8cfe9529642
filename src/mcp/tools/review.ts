import { InvalidArguments } from "../../agent/errors.js";
import type { ReviewTarget } from "../../threads/events.js";
import type { Turn } from "../../threads/turn.js";
import { answer, type DraftResult } from "../wording/callResult.js";
import { arg, defineTool, TURN_OUTPUT, type TurnAnswer, WAIT_ARGUMENT } from "./tool.js";

/** A review turn. */
export const reviewTool = defineTool({
  name: "codex-review",
  title: "Codex Review",
  description:
    "Has Codex review changes in a git repository; it cannot write and never asks. Takes minutes. Returns `findings` (priority 0 worst to 3, title, file, lines, body) and the same as text.",
  input: {
    target: arg.choice(["uncommitted", "branch", "commit", "custom"], "What to review."),
    branch: arg.optional(arg.text("`branch`: all changes since it.")),
    commit: arg.optional(arg.text("`commit`: its hash.")),
    instructions: arg.optional(arg.text("`custom`: what to review and how; else what to look for.")),
    cwd: arg.optional(arg.text("Absolute path of the repository.")),
    model: arg.optional(arg.text("As in codex.")),
    wait: WAIT_ARGUMENT,
  },
  output: TURN_OUTPUT,
  annotations: { readOnlyHint: true },
  sets: ["codex"],
  order: 4,
  answers: "the review, with its findings as data; the thread can be asked about it",
  example: { target: "branch", branch: "main", cwd: "." },
  async call({ cwd, model, wait, ...asked }, { agent, ask, turnId }) {
    const focus = asked.target === "custom" ? undefined : asked.instructions;
    return reviewAnswer(await agent.review(ask, targetOf(asked), { cwd, model, focus, turnId }), { wait, ...ignored(asked) });
  },
});

/** Without changes the model is not called and no thread is opened. */
function reviewAnswer(begun: Turn | { readonly nothing: string }, of: Pick<TurnAnswer, "wait" | "remark">): DraftResult | TurnAnswer {
  if (!("nothing" in begun)) return { turn: begun, ...of };
  const content = [begun.nothing, of.remark].filter((text) => text !== undefined).join(" ");
  return answer(content, { threadId: "", content, status: "completed", findings: [] });
}

function ignored({ target, branch, commit }: AskedTarget): Pick<TurnAnswer, "remark"> {
  const names = Object.entries({ branch, commit }).flatMap(([name, value]) => (name === target || isBlank(value) ? [] : [`\`${name}\``]));
  return names.length === 0 ? {} : { remark: `Ignored for the target \`${target}\`: ${names.join(", ")}.` };
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

const NEEDED = {
  branch: "the branch to compare with, e.g. `main`",
  commit: "the hash of the commit",
  instructions: "what to review and how",
} as const;

function given(name: keyof typeof NEEDED, value: string | undefined): string {
  if (isBlank(value)) throw new InvalidArguments(`This target needs \`${name}\`: ${NEEDED[name]}.`);
  return value;
}

function isBlank(value: string | undefined): value is "" | undefined {
  return value === undefined || value.trim() === "";
}
