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
    reason: "A cancelled call holds nothing open and leaves no process: the server ends with its stdin.",
    ours: { ending: { "": CLEAN_EXIT } },
  }),
  ...forEach(["cancel-during-approval", "escalate-cancel", "cancel-patch-approval"], {
    reason: "A cancelled call holds nothing open, no question either: the server ends with its stdin.",
    ours: { notifications: WITHDRAWN, ending: { "": [files({}), ...CLEAN_EXIT] } },
  }),
  "exec-no-answer-then-cancel": {
    reason: "As above; a command nobody decided about has no end. The reference showed one in some runs.",
    ours: {
      notifications: WITHDRAWN,
      events: { 2: [...COMMAND_ASKED, "raw_response_item", "turn_aborted"] },
      contents: { "raw_response_item of call 2": { "4.item.output": "Wall time: <span>\naborted by user" } },
      ending: { "": [files({}), ...CLEAN_EXIT] },
    },
  },
  "eof-during-hang": {
    reason:
      "When stdin closes a turn may go on for two seconds, then it is interrupted and its call answered; the reference stayed for ever.",
    ours: {
      answers: { 2: interrupted() },
      events: { 2: [...FIRST_TURN_BEGINS, "turn_aborted"] },
      ending: { "": CLEAN_EXIT },
    },
  },
  "eof-during-stream": {
    reason: "When stdin closes a turn may go on for two seconds, then it is interrupted; the reference waited for its end.",
    ours: {
      answers: { 2: interrupted() },
      events: { 2: [...FIRST_TURN_BEGINS, ...MESSAGE_STREAMS, "turn_aborted"] },
    },
  },
  "eof-during-shell": {
    reason: "When stdin closes a turn may go on for two seconds, then it is interrupted; the reference waited for its end.",
    ours: {
      answers: { 2: interrupted() },
      events: { 2: [...COMMAND_BEGINS, "raw_response_item", "turn_aborted"] },
      ending: { "": [...CLEAN_EXIT, files({})] },
    },
  },
  "eof-during-approval": {
    reason: "When stdin closes nobody can answer any more: the turn is interrupted and its call answered; the reference stayed for ever.",
    ours: {
      answers: { 2: interrupted() },
      notifications: WITHDRAWN,
      events: { 2: [...COMMAND_ASKED, "raw_response_item", "turn_aborted"] },
      ending: { "": [...CLEAN_EXIT, files({})] },
    },
  },
  ...forEach(["exec-answer-as-string-id", "escalate-answer-as-string-id"], {
    reason: "An answer under another id is none, as recorded; but when stdin closes the turn is interrupted and its call answered.",
    ours: {
      answers: { 2: interrupted() },
      notifications: WITHDRAWN,
      events: { 2: [...COMMAND_ASKED, "raw_response_item", "turn_aborted"] },
      ending: { "": [files({}), ...CLEAN_EXIT] },
    },
  }),
  "sigterm-during-shell": {
    reason: "A signal interrupts the turn, its call is answered and its command is gone; the reference left the command behind.",
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
    reason: "A reply after a failed turn is a normal turn; the reference answered with what the failed one had left over.",
    ours: { answers: { 3: said("back again") }, events: { 3: WHOLE_REPLY } },
  },
  "reply-after-restart": {
    reason: "A thread of an earlier process goes on from its rollout; the reference did not know it any more.",
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
