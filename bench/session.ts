import type { DeltaMeter } from "./deltaMeter.js";
import type { JsonRecord } from "./lineRpc.js";
import type { ServerProcess } from "./processes.js";

export const START_DEADLINE_MS = 30_000;
export const TURN_DEADLINE_MS = 60_000;

export interface TurnRequest {
  /** The thread to continue; without it a new one is started. */
  readonly threadId?: string | undefined;
  readonly prompt: string;
  /** Default: full access. */
  readonly sandbox?: "workspace-write";
  /** A text that the answer must contain: a wrong answer, however fast, is a failure. */
  readonly expect: string;
  /** How many commands must have run, if the answer reports it; 0 by default. Otherwise a refused command would look fast. */
  readonly commands?: number;
}

/** A started server that has answered `initialize`, as far as the cases use it. */
export interface Session {
  readonly deltas: DeltaMeter;
  /** Resolves with the thread's id. */
  turn(request: TurnRequest): Promise<string>;
  /** Calls one of our tools; absent for servers without them. Resolves with its structured answer. */
  tool?(name: string, args: JsonRecord): Promise<JsonRecord>;
}

export type OpenSession = (server: ServerProcess, workspace: string) => Promise<Session>;
