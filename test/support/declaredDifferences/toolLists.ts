import { CODEX_TOOLS, OWN_TOOLS } from "../toolPins.js";
import type { DeclaredDifferences } from "./ownSide.js";

const reason = "After Codex's two tools come ours; `--tools codex-original` shows the two alone.";

/** Hints are not compared. */
const LISTED = [{ tools: [...CODEX_TOOLS, ...OWN_TOOLS.map(({ annotations: _hints, ...tool }) => tool)] }];

/** The answers to `tools/list`, by the ids they were asked with. */
export const TOOL_LISTS: DeclaredDifferences = {
  "before-init": { reason, ours: { answers: { 2: LISTED } } },
  "init-no-initialized": { reason, ours: { answers: { 2: LISTED } } },
  "init-twice": { reason, ours: { answers: { 4: LISTED } } },
  "ping-during-turn": { reason, ours: { answers: { 4: LISTED } } },
  "tools-list": { reason, ours: { answers: { 2: LISTED, 3: LISTED, 4: LISTED } } },
};
