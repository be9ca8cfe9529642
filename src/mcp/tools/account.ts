import type { Agent, Ask } from "../../agent/agent.js";
import { InvalidArguments } from "../../agent/errors.js";
import { AppError, describe } from "../../lib/errors.js";
import type { AccountLimits, AccountState, KeyLimit } from "../../threads/engineServices.js";
import type { RateLimitWindow } from "../../threads/usage.js";
import { answer, type CallToolResult, refusal } from "../wording/callResult.js";
import { arg, defineTool } from "./tool.js";

/** Shows or changes the login at the model's provider. A change applies to everyone on this server. */
export const accountTool = defineTool({
  name: "codex-account",
  title: "Codex Account",
  description: "Shows or changes the login at the model's provider.",
  input: {
    action: arg.choice(["state", "login", "device-login", "logout"], "What to do."),
    apiKey: arg.optional(arg.text("For `login`.")),
  },
  sets: ["extras"],
  order: 22,
  answers: "who is logged in; for `device-login` an address and a code",
  example: { action: "state" },
  async call({ action, apiKey }, { agent, ask }) {
    switch (action) {
      case "state": {
        const state = await agent.server.accountState(ask);
        return answer([wordsFor(state), ...limitLines(state.limits)].join("\n"), { ...state });
      }
      case "login":
        return login(agent, ask, apiKey);
      case "device-login": {
        const { url, code } = await agent.server.loginWithDeviceCode(ask);
        return answer(`Open ${url} and enter the code ${code}. The action \`state\` tells when that is done.`, { url, code });
      }
      case "logout":
        await agent.server.logout(ask);
        return answer("Logged out.");
    }
  },
});

async function login(agent: Agent, ask: Ask, apiKey: string | undefined): Promise<CallToolResult> {
  if (!apiKey) throw new InvalidArguments("`login` needs `apiKey`; `device-login` needs none.");
  try {
    await agent.server.login(ask, apiKey);
    return answer("Logged in with the API key.");
  } catch (error) {
    // The error may quote the key, and thrown errors are logged.
    return refusal(error instanceof AppError ? error : undefined, describe(error).replaceAll(apiKey, "****"));
  }
}

/** How much of each limit is used, and when it resets. */
function limitLines(limits: AccountLimits | undefined): string[] {
  if (!limits) return [];
  const { windows, requests, tokens } = limits;
  return [
    ...[windows?.primary, windows?.secondary].flatMap((window) => (window ? [windowLine(window)] : [])),
    ...(windows?.credits ? [`Credits: ${windows.credits.unlimited ? "unlimited" : (windows.credits.balance ?? "none")}`] : []),
    ...(requests ? [keyLine("requests", requests)] : []),
    ...(tokens ? [keyLine("tokens", tokens)] : []),
  ];
}

function windowLine({ used_percent: used, window_minutes: minutes, resets_at: at }: RateLimitWindow): string {
  const of = minutes === null ? "a limit" : minutes % 60 === 0 ? `the limit of ${minutes / 60} h` : `the limit of ${minutes} min`;
  return `${Math.round(used)} % of ${of} used${resets(at)}`;
}

function keyLine(what: string, { limit, remaining, resetsAt }: KeyLimit): string {
  return `${remaining} of ${limit} ${what} left${resets(resetsAt)}`;
}

function resets(at: number | null): string {
  const date = new Date((at ?? Number.NaN) * 1000);
  return Number.isNaN(date.getTime()) ? "" : `; resets at ${date.toISOString().replace(/\.\d+Z$/, "Z")}`;
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
