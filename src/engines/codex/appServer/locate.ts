import path from "node:path";
import { OutsidePrograms, WritablePlaces } from "../../../exec/outside/outsidePrograms.js";

export interface CodexSearch {
  /** What `--codex-bin` names; counts before `CODEX_BIN` and the path. */
  readonly codexBin?: string;
  readonly env: NodeJS.ProcessEnv;
  /** Nothing in there is found on the path: Codex runs outside the sandbox of commands that may write there. */
  readonly writable?: WritablePlaces;
}

/** Where a Codex is, and who said so. */
export interface FoundCodex {
  readonly path: string;
  readonly namedBy: "--codex-bin" | "CODEX_BIN" | "PATH";
}

const NAME = "codex";

/** Looks at names only and opens nothing, so that a start may ask. What was named by hand is taken as it is; undefined when nothing is there. */
export function findCodex(search: CodexSearch): FoundCodex | undefined {
  const { codexBin, env } = search;
  if (codexBin) return { path: path.resolve(codexBin), namedBy: "--codex-bin" };
  if (env["CODEX_BIN"]) return { path: path.resolve(env["CODEX_BIN"]), namedBy: "CODEX_BIN" };
  const onPath = programsOf(search).find(NAME);
  return onPath === undefined ? undefined : { path: onPath, namedBy: "PATH" };
}

/** A sentence about a Codex that is on the path and was passed over; undefined when there is none, or another one was found. */
export function passedOver(search: CodexSearch): string | undefined {
  if (findCodex(search)) return undefined;
  const [file] = programsOf(search).distrusted(NAME);
  return (
    file &&
    `${file} was passed over, because commands of threads may write it or what it leads to; name it with --codex-bin if it is to be used.`
  );
}

export function programsOf({ env, writable = new WritablePlaces([]) }: CodexSearch): OutsidePrograms {
  return new OutsidePrograms({ env, writable });
}
