import type { OutsidePrograms } from "../../exec/outside/outsidePrograms.js";
import { openBashReader } from "../../exec/safety/bash/reader.js";
import { isKnownSafe } from "../../exec/safety/judge/effects.js";
import type { ThreadSettings } from "../../threads/settings.js";
import { asFields, asText, asTexts } from "./appServer/read.js";
import type { ThreadGuard } from "./guard/threadGuard.js";
import { commandWords } from "./translate/actionItems.js";

interface WhereCodexAsks {
  readonly settings: Pick<ThreadSettings, "approvalPolicy">;
  readonly guard: Pick<ThreadGuard, "reach">;
  readonly programs: Pick<OutsidePrograms, "find" | "distrusted">;
}

const COMMAND_APPROVAL = "item/commandExecution/requestApproval";
/** What is asked for beside the command: a rule's or the model's reason, the network, more than the sandbox allows. */
const FURTHER_WISHES = ["reason", "networkApprovalContext", "additionalPermissions", "grantRoot"];

/**
 * Whether a question about a command needs nobody: under `untrusted` Codex asks about every command, also those that only look. A command
 * that was allowed may run again outside the sandbox, so that it has to be safe there too, and a network caller, from whom files are hidden,
 * is always asked.
 */
export async function needsNobody(method: string, params: unknown, where: WhereCodexAsks): Promise<boolean> {
  const { settings, guard, programs } = where;
  if (method !== COMMAND_APPROVAL || settings.approvalPolicy !== "untrusted" || guard.reach) return false;
  const { kind = "command", command, proposedExecpolicyAmendment, ...rest } = asFields(params);
  const asksForMore = FURTHER_WISHES.some((wish) => rest[wish] !== undefined && rest[wish] !== null);
  // Where a rule decided, no other rule is proposed.
  if (kind !== "command" || asksForMore || asTexts(proposedExecpolicyAmendment).length === 0) return false;
  const argv = commandWords(asText(command));
  const trusts = (name: string) => programs.find(name) !== undefined && programs.distrusted(name).length === 0;
  return isKnownSafe(argv, await openBashReader(argv), { trusts });
}
