import { appendFileSync, existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import type { Faults } from "./appServerDouble.js";

type Json = Readonly<Record<string, unknown>>;
type Notify = (method: string, params: Json) => void;

/** The outcomes of logins, one per line, in a file of the double's home. */
export const LOGINS_FILE = "double-logins.txt";
/** Creating this file in the double's home completes a login. */
export const LOGIN_DONE_FILE = "double-login-done";
/** The requests in order, one per line, in a file of the double's home. */
export const REQUESTS_FILE = "double-requests.jsonl";
/** Exists once a command has begun. */
export const COMMAND_FILE = "double-command";

const MODELS = [
  { model: "one", displayName: "One", isDefault: false, supportedReasoningEfforts: [{ reasoningEffort: "low" }] },
  { model: 7, displayName: "no model at all" },
  { model: "two", displayName: "", isDefault: false, supportedReasoningEfforts: "none" },
  { model: "three", isDefault: true, supportedReasoningEfforts: [{ reasoningEffort: "high" }, { reasoningEffort: "ultra" }] },
];

/** The double's answers to requests that concern no turn; undefined for other requests. */
export function servicesOfDouble(faults: Faults, notify: Notify): (method: string, params: Json) => Json | Promise<Json> | undefined {
  const home = process.env["CODEX_HOME"] ?? "";
  const commands = new Map<string, (answer: Json) => void>();
  let logins = 0;
  let pending: string | undefined;
  /** Kept in its home, so that the next process has it too. */
  const keyFile = path.join(home, "double-api-key");
  const apiKey = () => (existsSync(keyFile) ? readFileSync(keyFile, "utf8") : undefined);

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
        if (params["type"] === "apiKey") {
          writeFileSync(keyFile, String(params["apiKey"]));
          return { type: "apiKey" };
        }
        pending = `login ${++logins}`;
        if (params["type"] === "chatgpt") return { type: "chatgpt", loginId: pending, authUrl: "https://example.org/oauth/authorize" };
        return { type: "chatgptDeviceCode", loginId: pending, verificationUrl: "https://example.org/device", userCode: `CODE-${logins}` };
      case "account/login/cancel":
        endLogin("cancelled");
        return { status: "canceled" };
      case "account/logout":
        rmSync(keyFile, { force: true });
        return {};
      case "account/read":
        return { account: apiKey() === undefined ? null : { type: "apiKey" }, requiresOpenaiAuth: true };
      case "getAuthStatus":
        return { requiresOpenaiAuth: true, ...(apiKey() !== undefined && { authMethod: "apikey", authToken: apiKey() }) };
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
