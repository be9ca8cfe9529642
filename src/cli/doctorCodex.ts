import { AppServers } from "../engines/codex/appServer/appServers.js";
import { findCodex, passedOver } from "../engines/codex/appServer/locate.js";
import type { RunningCodex } from "../engines/codex/appServer/supervisor.js";
import type { WritablePlaces } from "../exec/outside/writablePlaces.js";
import { describe } from "../lib/errors.js";
import { isFields } from "../lib/fields.js";
import type { ThreadSettings } from "../threads/settings.js";
import type { Finding } from "./finding.js";

export interface CodexPatient {
  readonly codexBin?: string;
  readonly env: NodeJS.ProcessEnv;
  readonly cwd: string;
  readonly writable: WritablePlaces;
  /** What a new thread would run with. */
  readonly thread: ThreadSettings;
}

const NONE = "none is on PATH (npm install -g @openai/codex, or --codex-bin PATH)";

/** Starts the Codex of this machine, if there is one, and asks how it is. */
export async function codexFinding(patient: CodexPatient): Promise<Finding> {
  const found = findCodex(patient);
  if (!found) return { verdict: "fails", subject: "codex", text: passedOver(patient) ?? NONE };
  const servers = new AppServers({ ...patient, report: () => {} });
  try {
    return await examine(await servers.for(patient.thread).get(), patient);
  } catch (error) {
    return { verdict: "fails", subject: "codex", text: describe(error) };
  } finally {
    await servers.close();
  }
}

async function examine({ server, program, version }: RunningCodex, { thread }: CodexPatient): Promise<Finding> {
  const { account } = asFields(await server.request("account/read", {}));
  const kind = asFields(account)["type"];
  if (thread.provider.requiresOpenaiAuth && typeof kind !== "string")
    return { verdict: "fails", subject: "codex", text: `${program}, version ${version}, is not logged in: run \`codex login\`` };
  const login = typeof kind === "string" ? `logged in (${kind})` : "no login needed";
  return { verdict: "ok", subject: "codex", text: `${program}, version ${version}, ${login}` };
}

function asFields(value: unknown): Readonly<Record<string, unknown>> {
  return isFields(value) ? value : {};
}
