import type { Caller } from "../../../agent/caller.js";
import { checkScope, hasScope } from "../../../agent/scopes.js";
import { describe } from "../../../lib/errors.js";
import type { Account, AccountState } from "../../../threads/engineServices.js";
import { type CallToolResult, refusal } from "../../wording/callResult.js";
import type { Agent } from "../agent.js";
import { InvalidArguments, parseArguments, type ToolStruct } from "../arguments.js";
import schemas from "../schemas.generated.json" with { type: "json" };
import type { AccountArguments } from "../schemas.js";
import type { ToolAction } from "../tool.js";
import { answer, PROMPTLY, refusing, servicesOf } from "./answers.js";
import { within } from "./within.js";

const ARGUMENTS: ToolStruct<AccountArguments> = { schema: schemas.accountInput, tool: "codex-account" };

/** `codex-account`: who pays for the model, and changing that, which changes it for everybody on this server. */
export function accountTool(agent: Agent): ToolAction {
  return refusing(async (args, call) => {
    const asked = parseArguments(args, ARGUMENTS);
    if (asked.action !== "state") checkScope(call.caller, "manage");
    return within(PROMPTLY, call, async () => change((await servicesOf(agent)).account, asked, call.caller));
  });
}

async function change(account: Account, { action, apiKey }: AccountArguments, caller: Caller | undefined): Promise<CallToolResult> {
  switch (action) {
    case "state":
      return toldState(await account.state(), caller);
    case "login":
      return login(account, apiKey);
    case "device-login": {
      const { url, code } = await account.loginWithDeviceCode();
      return answer(`Open ${url} and enter the code ${code}. The action \`state\` tells when that is done.`, { url, code });
    }
    case "logout":
      await account.logout();
      return answer("Logged out.");
  }
}

async function login(account: Account, apiKey: string | undefined): Promise<CallToolResult> {
  if (!apiKey) throw new InvalidArguments("`login` needs `apiKey`; `device-login` needs none.");
  try {
    await account.loginWithKey(apiKey);
    return answer("Logged in with the API key.");
  } catch (error) {
    // Whoever complains may quote the key, and what is thrown ends in a log.
    return refusal(describe(error).replaceAll(apiKey, "****"));
  }
}

/** Whose account it is concerns only who may change it. */
function toldState(state: AccountState, caller: Caller | undefined): CallToolResult {
  if (state.kind !== "chatgpt" || hasScope(caller, "manage")) return answer(wordsFor(state), { ...state });
  const { email: _, ...rest } = state;
  return answer(wordsFor(rest), rest);
}

function wordsFor(state: AccountState): string {
  switch (state.kind) {
    case "none":
      return state.isNeeded ? `Not logged in. ${state.remedy ?? ""}`.trim() : "No login is needed.";
    case "apiKey":
      return `An API key is used: ${state.source}.`;
    case "chatgpt":
      return ["Logged in with ChatGPT", state.email && `as ${state.email}`, state.plan && `(plan ${state.plan})`].filter(Boolean).join(" ");
  }
}
