import { expect, it } from "vitest";
import { ITEM_KINDS } from "./items.js";
import { NOTIFICATIONS, THREADLESS, translationOf } from "./notifications.js";

/** What the schema of app-server 0.166.0 lists. */
const LISTED = `
account/gatewayOAuth/changed account/login/completed account/rateLimits/updated account/updated app/list/updated
autoApprovalReview/strictReviewRequired command/exec/outputDelta configWarning deprecationNotice error
externalAgentConfig/import/completed externalAgentConfig/import/progress fs/changed fuzzyFileSearch/sessionCompleted
fuzzyFileSearch/sessionUpdated guardianWarning hook/completed hook/started item/agentMessage/delta
item/autoApprovalReview/completed item/autoApprovalReview/started item/commandExecution/outputDelta
item/commandExecution/terminalInteraction item/completed item/fileChange/outputDelta item/fileChange/patchUpdated
item/mcpToolCall/progress item/plan/delta item/reasoning/summaryPartAdded item/reasoning/summaryTextDelta item/reasoning/textDelta
item/started mcpServer/event/stream/notification mcpServer/oauthLogin/completed mcpServer/startupStatus/updated model/rerouted
model/safetyBuffering/updated model/verification modelProvider/authRecoveryCompleted modelProvider/authRecoveryStarted process/exited
process/outputDelta project/changed rawResponse/completed rawResponseItem/completed remoteControl/status/changed
serverRequest/resolved skills/changed thread/archived thread/attachment/updated thread/closed thread/compacted thread/deleted
thread/environment/connected thread/environment/disconnected thread/goal/cleared thread/goal/updated thread/name/updated
thread/prediction/updated thread/project/updated thread/queue/changed thread/readState/changed thread/realtime/closed
thread/realtime/error thread/realtime/item/completed thread/realtime/item/started thread/realtime/item/transcript/delta
thread/realtime/itemAdded thread/realtime/outputAudio/delta thread/realtime/sdp thread/realtime/started
thread/realtime/transcript/delta thread/realtime/transcript/done thread/reverted thread/settings/updated thread/started
thread/status/changed thread/tokenUsage/updated thread/unarchived turn/completed turn/diff/updated turn/moderationMetadata
turn/plan/updated turn/started warning windows/worldWritableWarning windowsSandbox/setupCompleted
`
  .trim()
  .split(/\s+/);

it("every notification of the app-server is shown, or left out for a reason", () => {
  expect([...NOTIFICATIONS.keys()].sort()).toEqual(LISTED);
  expect(LISTED).toHaveLength(87);
  const unexplained = [...NOTIFICATIONS].filter(([, known]) => typeof known !== "function" && known.ignored === "");
  expect(unexplained).toEqual([]);
});

it("every kind of item is shown, or left out for a reason", () => {
  expect([...ITEM_KINDS.keys()].sort()).toEqual([
    "agentMessage",
    "collabAgentToolCall",
    "commandExecution",
    "contextCompaction",
    "dynamicToolCall",
    "enteredReviewMode",
    "exitedReviewMode",
    "fileChange",
    "functionCallOutput",
    "hookPrompt",
    "imageGeneration",
    "imageView",
    "mcpToolCall",
    "plan",
    "reasoning",
    "sleep",
    "subAgentActivity",
    "userMessage",
    "webSearch",
  ]);
});

it("what names no thread and is passed to all of them is something that shows", () => {
  expect([...THREADLESS].filter((method) => translationOf(method) === undefined)).toEqual([]);
  expect(translationOf("thread/archived")).toBeUndefined();
  expect(translationOf("something/new")).toBeUndefined();
});
