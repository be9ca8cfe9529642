import type { DeltaMeter } from "./deltaMeter.js";
import type { JsonRecord } from "./lineRpc.js";
import type { ServerProcess } from "./processes.js";

export const START_DEADLINE_MS = 30_000;
export const TURN_DEADLINE_MS = 60_000;

export interface TurnRequest {
  /** The thread to go on with; without it a new one is started. */
  readonly threadId?: string | undefined;
  readonly prompt: string;
  /** Full access unless told otherwise. */
  readonly sandbox?: "workspace-write";
  /** What the answer must hold: a wrong answer, however fast, is a failure. */
  readonly expect: string;
  /** How many commands must have run, if the answer tells; none unless told otherwise. A command that was refused costs nothing. */
  readonly commands?: number;
}

/** A started server that has answered `initialize`, and the one thing that is asked of it. */
export interface Session {
  readonly deltas: DeltaMeter;
  /** Resolves with the thread's id. */
  turn(request: TurnRequest): Promise<string>;
  /** Calls a tool of ours; absent where there are none. Resolves with its structured answer. */
  tool?(name: string, args: JsonRecord): Promise<JsonRecord>;
}

export type OpenSession = (server: ServerProcess, workspace: string) => Promise<Session>;
