import type { Agent, Ask } from "../../agent/agent.js";
import { InvalidArguments } from "../../agent/errors.js";
import { AppError, describe } from "../../lib/errors.js";
import type { AccountState } from "../../threads/engineServices.js";
import { answer, type CallToolResult, refusal } from "../wording/callResult.js";
import { arg, defineTool } from "./tool.js";

/** Who pays for the model, and changing that, which changes it for everybody on this server. */
export const accountTool = defineTool({
  name: "codex-account",
  title: "Codex Account",
  description: "Tells or changes who is logged in to the model's provider.",
  input: {
    action: arg.choice(["state", "login", "device-login", "logout"], "What to do."),
    apiKey: arg.optional(arg.text("For `login`.")),
  },
  sets: ["codex"],
  order: 9,
  answers: "who is logged in; for `device-login` an address and a code",
  example: { action: "state" },
  async call({ action, apiKey }, { agent, ask }) {
    switch (action) {
      case "state": {
        const state = await agent.accountState(ask);
        return answer(wordsFor(state), { ...state });
      }
      case "login":
        return login(agent, ask, apiKey);
      case "device-login": {
        const { url, code } = await agent.loginWithDeviceCode(ask);
        return answer(`Open ${url} and enter the code ${code}. The action \`state\` tells when that is done.`, { url, code });
      }
      case "logout":
        await agent.logout(ask);
        return answer("Logged out.");
    }
  },
});

async function login(agent: Agent, ask: Ask, apiKey: string | undefined): Promise<CallToolResult> {
  if (!apiKey) throw new InvalidArguments("`login` needs `apiKey`; `device-login` needs none.");
  try {
    await agent.login(ask, apiKey);
    return answer("Logged in with the API key.");
  } catch (error) {
    // Whoever complains may quote the key, and what is thrown ends in a log.
    return refusal(error instanceof AppError ? error : undefined, describe(error).replaceAll(apiKey, "****"));
  }
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
