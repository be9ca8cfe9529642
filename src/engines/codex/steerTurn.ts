import { RpcError } from "../../jsonrpc/errors.js";
import { CodexRefused } from "./errors.js";
import type { TurnPlace } from "./startTurn.js";
import { inputParams } from "./translate/settings.js";

export interface TurnToSteer extends Pick<TurnPlace, "server" | "codexThreadId"> {
  /** The turn's id in Codex, once it is accepted. */
  readonly started: Promise<string>;
}

/** Gives a running turn more to consider. False when Codex has no such turn. Throws `CodexRefused` for a text that it does not take. */
export async function steerTurn(text: string, { server, codexThreadId, started }: TurnToSteer): Promise<boolean> {
  const expectedTurnId = await started.catch(() => undefined);
  if (expectedTurnId === undefined) return false;
  try {
    await server.request("turn/steer", { ...inputParams(codexThreadId, { text }), expectedTurnId });
    return true;
  } catch (error) {
    if (!(error instanceof RpcError)) throw error;
    if (TAKES_NOTHING.test(error.message)) return false;
    throw new CodexRefused(`Codex did not take the message into the running turn: ${error.message}`, { cause: error });
  }
}

const TAKES_NOTHING = /no active turn|expected active turn|cannot steer/i;
