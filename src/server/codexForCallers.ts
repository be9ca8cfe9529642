import { CodexMissing, CodexUnusable } from "../engines/codex/appServer/errors.js";
import { codexProgram } from "../engines/codex/appServer/findBinary.js";
import { askVersion, cannotHide, hidesSecrets } from "../engines/codex/appServer/handshake.js";
import type { HttpContext } from "./httpContext.js";
import { writablePlaces } from "./writablePlaces.js";

/**
 * For a server that more than one principal may call. A Codex whose commands read whatever its user can must not be shared: one caller would read the others' threads and tokens.
 * Where nobody chose it, the native engine takes its place. Throws `CodexUnusable` where somebody did.
 */
export async function requireHidingCodex(context: HttpContext): Promise<HttpContext> {
  const { options, env, serverCwd, listen } = context;
  const complaint = await complaintAbout({ ...options, env, writable: writablePlaces({ ...options, ...listen, serverCwd, env }) });
  if (complaint === undefined) return context;
  if (!options.engineIsAuto) throw new CodexUnusable(complaint);
  return { ...context, options: { ...options, engine: "native", engineNotice: `engine native is used instead of codex. ${complaint}` } };
}

/** One that is not there or does not start is told when it is needed, and keeps no secrets from nobody. */
async function complaintAbout(search: Parameters<typeof codexProgram>[0]): Promise<string | undefined> {
  try {
    const program = codexProgram(search);
    const version = await askVersion(program, search.env);
    return hidesSecrets(version) ? undefined : cannotHide(version, program);
  } catch (error) {
    if (error instanceof CodexMissing || error instanceof CodexUnusable) return undefined;
    throw error;
  }
}
