import { CodexMissing, CodexUnusable } from "../engines/codex/appServer/errors.js";
import { codexProgram, packagedVersion } from "../engines/codex/appServer/findBinary.js";
import { askVersion, homeInTemporaryFolder, requireSupported } from "../engines/codex/appServer/handshake.js";
import type { CodexSearch } from "../engines/codex/appServer/locate.js";
import { findCredential, readLogin } from "../engines/native/model/provider.js";
import { describe } from "../lib/errors.js";
import type { ThreadSettings } from "../threads/settings.js";
import { resolveSettings, type ServerContext } from "./context.js";
import { writablePlaces } from "./writablePlaces.js";

type Start = Pick<ServerContext, "options" | "env" | "serverCwd">;

/** If the engine was chosen automatically and the Codex cannot be used, switches to the native engine, if that can be used. */
export async function nativeUnlessUsable<Context extends Start>(context: Context): Promise<Context> {
  const { options } = context;
  if (options.engine !== "codex" || !options.engineIsAuto) return context;
  const complaint = await complaintAbout(context);
  if (complaint === undefined) return context;
  return { ...context, options: { ...options, engine: "native", engineNotice: `engine native is used instead of codex. ${complaint}` } };
}

/** Undefined even if the native engine would not work either: the first call then reports the problem of the Codex, with the remedy. */
async function complaintAbout({ options, env, serverCwd }: Start): Promise<string | undefined> {
  const home = homeOf({ options, env, serverCwd });
  if (!home || !hasCredential(home.thread, { ...home, env })) return undefined;
  const { codexBin } = options;
  const writable = writablePlaces({ ...options, serverCwd, env });
  const broken = await faultOf({ env, writable, ...(codexBin === undefined ? {} : { codexBin }) });
  return broken ?? notLoggedIn(home) ?? homeInTemporaryFolder({ ...home, env });
}

interface Home {
  readonly codexHome: string;
  readonly thread: ThreadSettings;
  readonly loginIsInKeyring: boolean;
}

/** Undefined for an unreadable configuration: the part that needs it reports the error. */
function homeOf(start: Start): Home | undefined {
  try {
    const { codexHome, settings } = resolveSettings(start);
    return { codexHome, thread: settings.forNewThread({}), ...settings.serverSettings() };
  } catch {
    return undefined;
  }
}

/** Starts a process only if no package tells the version. */
async function faultOf(search: CodexSearch): Promise<string | undefined> {
  try {
    const program = codexProgram(search);
    requireSupported(packagedVersion(program) ?? (await askVersion(program, search.env)), program);
    return undefined;
  } catch (error) {
    if (error instanceof CodexMissing || error instanceof CodexUnusable) return describe(error);
    throw error;
  }
}

function hasCredential({ provider }: ThreadSettings, sources: { codexHome: string; env: NodeJS.ProcessEnv }): boolean {
  try {
    findCredential(provider, sources);
    return true;
  } catch {
    return false;
  }
}

function notLoggedIn({ thread, codexHome, loginIsInKeyring }: Home): string | undefined {
  if (!thread.provider.requiresOpenaiAuth || loginIsInKeyring) return undefined;
  try {
    const { apiKey, hasChatGptTokens } = readLogin(codexHome);
    if (apiKey !== undefined || hasChatGptTokens) return undefined;
  } catch {
    return undefined;
  }
  return "The Codex CLI is not logged in, and an API key is in the environment: run `codex login`, or use --engine codex.";
}
