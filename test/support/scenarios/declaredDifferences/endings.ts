import { NOTHING } from "../compareTranscripts.js";
import { type DeclaredDifferences, forEach } from "./ownSide.js";
import {
  CLEAN_EXIT,
  COMMAND_ASKED,
  COMMAND_BEGINS,
  FIRST_TURN_BEGINS,
  files,
  interrupted,
  MESSAGE_STREAMS,
  said,
  WHOLE_REPLY,
} from "./phrases.js";

const TWENTY_WORDS = Array.from({ length: 20 }, (_, index) => `w${index} `).join("");

/** A question that is still open when its turn ends is withdrawn; the reference left it open. */
const WITHDRAWN = { "": ["notifications/cancelled"] };

/** Calls that end early, and threads that continue after them. The reference hung, or mixed up their answers. */
export const ENDINGS: DeclaredDifferences = {
  ...forEach(["cancel-hang", "cancel-mid-stream", "cancel-mid-shell", "cancelled-id-is-free"], {
    reason: "A cancelled call keeps nothing open and leaves no process, so the server ends when stdin closes.",
    ours: { ending: { "": CLEAN_EXIT } },
  }),
  ...forEach(["cancel-during-approval", "escalate-cancel", "cancel-patch-approval"], {
    reason: "A cancelled call keeps nothing open, not even a question, so the server ends when stdin closes.",
    ours: { notifications: WITHDRAWN, ending: { "": [files({}), ...CLEAN_EXIT] } },
  }),
  "exec-no-answer-then-cancel": {
    reason: "As above; a command without a decision has no end event. The reference showed one in some runs.",
    ours: {
      notifications: WITHDRAWN,
      events: { 2: [...COMMAND_ASKED, "raw_response_item", "turn_aborted"] },
      contents: { "raw_response_item of call 2": { "4.item.output": "Wall time: <span>\naborted by user" } },
      ending: { "": [files({}), ...CLEAN_EXIT] },
    },
  },
  "eof-during-hang": {
    reason: "After stdin has closed, a turn has 1.5 seconds; then it is interrupted and its call is answered. The reference never ended.",
    ours: {
      answers: { 2: interrupted() },
      events: { 2: [...FIRST_TURN_BEGINS, "turn_aborted"] },
      ending: { "": CLEAN_EXIT },
    },
  },
  "eof-during-stream": {
    reason: "After stdin has closed, a turn has 1.5 seconds; then it is interrupted. The reference waited for its end.",
    ours: {
      answers: { 2: interrupted() },
      events: { 2: [...FIRST_TURN_BEGINS, ...MESSAGE_STREAMS, "turn_aborted"] },
    },
  },
  "eof-during-shell": {
    reason: "After stdin has closed, a turn has 1.5 seconds; then it is interrupted. The reference waited for its end.",
    ours: {
      answers: { 2: interrupted() },
      events: { 2: [...COMMAND_BEGINS, "raw_response_item", "turn_aborted"] },
      ending: { "": [...CLEAN_EXIT, files({})] },
    },
  },
  "eof-during-approval": {
    reason: "After stdin has closed, no answer can arrive: the turn is interrupted and its call is answered. The reference never ended.",
    ours: {
      answers: { 2: interrupted() },
      notifications: WITHDRAWN,
      events: { 2: [...COMMAND_ASKED, "raw_response_item", "turn_aborted"] },
      ending: { "": [...CLEAN_EXIT, files({})] },
    },
  },
  ...forEach(["exec-answer-as-string-id", "escalate-answer-as-string-id"], {
    reason: "An answer under another id does not count, as recorded. When stdin closes, the turn is interrupted and its call is answered.",
    ours: {
      answers: { 2: interrupted() },
      notifications: WITHDRAWN,
      events: { 2: [...COMMAND_ASKED, "raw_response_item", "turn_aborted"] },
      ending: { "": [files({}), ...CLEAN_EXIT] },
    },
  }),
  "sigterm-during-shell": {
    reason: "A signal interrupts the turn, its call is answered and its command ends; the reference left the command running.",
    ours: {
      answers: { 2: interrupted() },
      events: { 2: [...COMMAND_BEGINS, "raw_response_item", "turn_aborted"] },
      ending: { "": [...CLEAN_EXIT, files({})] },
    },
  },
  "reply-after-cancel": {
    reason: "A thread whose turn was cancelled can be used at once, and each call gets its own events; the reference mixed them up.",
    ours: {
      answers: { 2: NOTHING, 3: said("back again") },
      events: { 2: [...FIRST_TURN_BEGINS, "turn_aborted"], 3: WHOLE_REPLY },
      ending: { "": CLEAN_EXIT },
    },
  },
  "reply-after-failed-turn": {
    reason: "A reply after a failed turn is a normal turn; the reference answered with the remains of the failed one.",
    ours: { answers: { 3: said("back again") }, events: { 3: WHOLE_REPLY } },
  },
  "reply-after-restart": {
    reason: "A thread of an earlier process continues from its rollout; the reference no longer knew it.",
    ours: { answers: { 3: said("second") }, events: { 3: WHOLE_REPLY } },
  },
  "two-on-one-thread": {
    reason: "A reply to a busy thread waits for its turn and is answered by it; the reference joined the two and answered one.",
    ours: {
      answers: { 3: said(TWENTY_WORDS), 4: said("second") },
      events: { 3: WHOLE_REPLY, 4: WHOLE_REPLY },
      contents: {
        "raw_response_item of call 3": { "1.item.content.0.text": TWENTY_WORDS },
        "item_completed of call 3": { "1.item.id": "<msg 1 of 3>", "1.item.content.0.text": TWENTY_WORDS },
        "agent_message_delta of call 3": { "0.text": TWENTY_WORDS },
        "agent_message of call 3": { "0.message": TWENTY_WORDS },
        "task_complete of call 3": { "0.last_agent_message": TWENTY_WORDS },
      },
      ending: { "": CLEAN_EXIT },
    },
  },
};
