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
/** Requests in addition to the command: a rule's or the model's reason, the network, more than the sandbox allows. */
const FURTHER_WISHES = ["reason", "networkApprovalContext", "additionalPermissions", "grantRoot"];

/**
 * Whether a question about a command can be approved without asking: under `untrusted` Codex asks about every command, even read-only ones.
 * An approved command may run again outside the sandbox, so it must be safe there too. A network caller, from whom files are hidden, is
 * always asked.
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
