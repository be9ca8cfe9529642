import { APPROVALS } from "./declaredDifferences/approvals.js";
import { COMMANDS } from "./declaredDifferences/commands.js";
import { ENDINGS } from "./declaredDifferences/endings.js";
import type { DeclaredDifferences } from "./declaredDifferences/ownSide.js";
import { REQUESTS } from "./declaredDifferences/requests.js";
/** Intended differences from the recordings, by scenario. */
export const DECLARED_DIFFERENCES: DeclaredDifferences = { ...REQUESTS, ...ENDINGS, ...APPROVALS, ...COMMANDS };
