import { CodexMissing, CodexUnusable } from "../engines/codex/appServer/errors.js";
import { codexProgram } from "../engines/codex/appServer/findBinary.js";
import { askVersion, cannotHide, hidesSecrets } from "../engines/codex/appServer/handshake.js";
import type { HttpContext } from "./httpContext.js";
import { writablePlaces } from "./writablePlaces.js";

/**
 * For a server with more than one principal. A Codex whose commands can read everything that its user can must not be shared: one caller
 * could read the others' threads and tokens. If the engine was chosen automatically, the native engine replaces it. Otherwise throws
 * `CodexUnusable`.
 */
export async function requireHidingCodex(context: HttpContext): Promise<HttpContext> {
  const { options, env, serverCwd, listen } = context;
  const complaint = await complaintAbout({ ...options, env, writable: writablePlaces({ ...options, ...listen, serverCwd, env }) });
  if (complaint === undefined) return context;
  if (!options.engineIsAuto) throw new CodexUnusable(complaint);
  return { ...context, options: { ...options, engine: "native", engineNotice: `engine native is used instead of codex. ${complaint}` } };
}

/** A Codex that is missing or does not start is reported when it is needed. Until then it exposes nothing. */
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
