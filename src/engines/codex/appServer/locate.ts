import path from "node:path";
import { OutsidePrograms, WritablePlaces } from "../../../exec/outside/outsidePrograms.js";

export interface CodexSearch {
  /** The value of `--codex-bin`; takes precedence over `CODEX_BIN` and PATH. */
  readonly codexBin?: string;
  readonly env: NodeJS.ProcessEnv;
  /** Programs in these folders are skipped on PATH: Codex runs outside the sandbox of commands that may write there. */
  readonly writable?: WritablePlaces;
}

/** The location of a Codex, and what named it. */
export interface FoundCodex {
  readonly path: string;
  readonly namedBy: "--codex-bin" | "CODEX_BIN" | "PATH";
}

const NAME = "codex";

/**
 * Only looks at names and opens nothing, so that it is cheap at the start. An explicitly named program is returned unchecked; undefined
 * when none is found.
 */
export function findCodex(search: CodexSearch): FoundCodex | undefined {
  const { codexBin, env } = search;
  if (codexBin) return { path: path.resolve(codexBin), namedBy: "--codex-bin" };
  if (env["CODEX_BIN"]) return { path: path.resolve(env["CODEX_BIN"]), namedBy: "CODEX_BIN" };
  const onPath = programsOf(search).find(NAME);
  return onPath === undefined ? undefined : { path: onPath, namedBy: "PATH" };
}

/** A sentence about a Codex on PATH that was skipped; undefined when there is none, or another one was found. */
export function passedOver(search: CodexSearch): string | undefined {
  if (findCodex(search)) return undefined;
  const [file] = programsOf(search).distrusted(NAME);
  return file && `${file} was skipped, because commands of threads may write the file or its target. To use it, name it with --codex-bin.`;
}

export function programsOf({ env, writable = new WritablePlaces([]) }: CodexSearch): OutsidePrograms {
  return new OutsidePrograms({ env, writable });
}
