import { appendFileSync, existsSync } from "node:fs";
import path from "node:path";
import type { Faults } from "./appServerDouble.js";

type Json = Readonly<Record<string, unknown>>;
type Notify = (method: string, params: Json) => void;

/** What became of logins: a line each, in a file of the double's home. */
export const LOGINS_FILE = "double-logins.txt";
/** A login is completed by making this file there. */
export const LOGIN_DONE_FILE = "double-login-done";
/** Requests as they came, a line each. */
export const REQUESTS_FILE = "double-requests.jsonl";
/** Is there once a command has begun. */
export const COMMAND_FILE = "double-command";

const MODELS = [
  { model: "one", displayName: "One", isDefault: false, supportedReasoningEfforts: [{ reasoningEffort: "low" }] },
  { model: 7, displayName: "no model at all" },
  { model: "two", displayName: "", isDefault: false, supportedReasoningEfforts: "none" },
  { model: "three", isDefault: true, supportedReasoningEfforts: [{ reasoningEffort: "high" }, { reasoningEffort: "ultra" }] },
];

/** What the double answers to requests that concern no turn; undefined when they are not of that kind. */
export function servicesOfDouble(faults: Faults, notify: Notify): (method: string, params: Json) => Json | Promise<Json> | undefined {
  const home = process.env["CODEX_HOME"] ?? "";
  const commands = new Map<string, (answer: Json) => void>();
  let logins = 0;
  let pending: string | undefined;

  const endLogin = (how: string) => {
    if (pending === undefined) return;
    appendFileSync(path.join(home, LOGINS_FILE), `${how} ${pending}\n`);
    notify("account/login/completed", { loginId: pending, success: how === "completed", error: null });
    pending = undefined;
  };
  setInterval(() => existsSync(path.join(home, LOGIN_DONE_FILE)) && endLogin("completed"), 20).unref();

  return (method, params) => {
    switch (method) {
      case "model/list": {
        const from = Number(params["cursor"] ?? 0);
        return { data: MODELS.slice(from, from + 2), nextCursor: from + 2 < MODELS.length ? String(from + 2) : null };
      }
      case "account/login/start":
        endLogin("replaced");
        if (params["type"] === "apiKey") return { type: "apiKey" };
        pending = `login ${++logins}`;
        if (params["type"] === "chatgpt") return { type: "chatgpt", loginId: pending, authUrl: "https://example.org/oauth/authorize" };
        return { type: "chatgptDeviceCode", loginId: pending, verificationUrl: "https://example.org/device", userCode: `CODE-${logins}` };
      case "account/login/cancel":
        endLogin("cancelled");
        return { status: "canceled" };
      case "account/logout":
        return {};
      case "command/exec":
        appendFileSync(path.join(home, COMMAND_FILE), "");
        return new Promise((resolve) => commands.set(String(params["processId"]), resolve));
      case "command/exec/terminate":
        if (!faults.keepsCommands) commands.get(String(params["processId"]))?.({ exitCode: 137, stdout: "", stderr: "" });
        return {};
      default:
        return undefined;
    }
  };
}
