import { type DeclaredDifferences, forEach } from "./ownSide.js";
import {
  CLEAN_EXIT,
  COMMAND_REFUSED,
  commandEnd,
  files,
  interrupted,
  outputForModel,
  PATCH_APPLIED,
  PATCH_REFUSED,
  said,
  WHOLE_MESSAGE,
} from "./phrases.js";

const NO_QUESTIONS = "this would leave the sandbox, and the client does not support questions; find a way inside it";
const PATCH_DONE = "Success. Updated the following files:\nA new.txt\n";

function patchRefused(why: string): Record<string, unknown> {
  const text = `patch not approved: ${why}`;
  return { "raw_response_item of call 2": { "5.item.output": text }, "patch_apply_end of call 2": { "0.stderr": text } };
}

/** Answers to questions. The reference understood only a top-level `decision` with its own values. */
export const APPROVALS: DeclaredDifferences = {
  ...forEach(
    [
      "exec-action-accept",
      "exec-action-accept-content",
      "exec-decision-accept",
      "escalate-action-accept",
      "escalate-action-accept-content",
    ],
    {
      reason: "A question accepted in MCP's way, or in another word for it, is approved; the reference refused.",
      ours: {
        contents: {
          "raw_response_item of call 2": { "4.item.output": outputForModel("", { exitCode: 0 }) },
          "exec_command_end of call 2": { ...commandEnd(""), "0.exit_code": 0 },
        },
        ending: { "": [files({ "made.txt": "" }), ...CLEAN_EXIT] },
      },
    },
  ),
  ...forEach(["patch-action-accept", "patch-ro-action-accept"], {
    reason: "A question accepted in MCP's way is approved; the reference refused.",
    ours: {
      events: { 2: PATCH_APPLIED },
      contents: {
        "raw_response_item of call 2": { "5.item.output": outputForModel(PATCH_DONE, { exitCode: 0 }) },
        "patch_apply_end of call 2": { "0.stdout": PATCH_DONE, "0.stderr": "", "0.success": true },
      },
      ending: { "": [files({ "new.txt": "hello\nworld\n" }), ...CLEAN_EXIT] },
    },
  }),
  ...forEach(["exec-decision-abort", "escalate-decision-abort", "patch-ro-abort"], {
    reason: "A call whose turn was aborted by an answer is answered; the reference never answered it.",
    ours: { answers: { 2: interrupted() }, ending: { "": [files({}), ...CLEAN_EXIT] } },
  }),
  "exec-amendment-without-words": {
    reason: "An amendment without words approves this command; nothing is written, so no failure needs a warning.",
    ours: {
      events: { 2: [...COMMAND_REFUSED, ...WHOLE_MESSAGE, "task_complete"] },
    },
  },
  ...forEach(["exec-rpc-error", "escalate-rpc-error"], {
    reason: "An error as an answer counts as a denial, and the turn continues; the reference never continued.",
    ours: {
      answers: { 2: said("finished") },
      events: { 2: [...COMMAND_REFUSED, ...WHOLE_MESSAGE, "task_complete"] },
      ending: { "": [files({}), ...CLEAN_EXIT] },
    },
  }),
  "patch-rpc-error": {
    reason: "An error as an answer counts as a denial, and the turn continues; the reference never continued.",
    ours: {
      answers: { 2: said("finished") },
      events: { 2: [...PATCH_REFUSED, ...WHOLE_MESSAGE, "task_complete"] },
      ending: { "": [files({}), ...CLEAN_EXIT] },
    },
  },
  ...forEach(["exec-no-capability", "patch-no-capability"], {
    reason: "A client without elicitation is not asked: actions inside the sandbox are done.",
    ours: { questions: { "": [] } },
  }),
  "patch-ro-no-capability": {
    reason: "A client without elicitation is not asked: actions outside the sandbox are refused, and the model gets the reason.",
    ours: {
      questions: { "": [] },
      events: { 2: [...PATCH_REFUSED, ...WHOLE_MESSAGE, "task_complete"] },
      contents: {
        ...patchRefused(NO_QUESTIONS),
        "patch_apply_end of call 2": { "0.stdout": "", "0.stderr": `patch not approved: ${NO_QUESTIONS}`, "0.success": false },
      },
      ending: { "": [files({}), ...CLEAN_EXIT] },
    },
  },
};
