import type { ChildProcess } from "node:child_process";
import type { Readable, Writable } from "node:stream";
import { pipes } from "./pipes.js";

export type End = "pipe" | "ignore" | number;

/** What connects a program's stdin, stdout and stderr with us. */
export interface StandardStreams {
  /** For `spawn`. */
  readonly ends: readonly End[];
  /** Our side. Undefined when the program could not be started. */
  of(child: ChildProcess): OurSide | undefined;
  handedOver(): void;
  finish(options: { reusable: boolean }): void;
}

export interface OurSide {
  /** Present when it was asked for. */
  readonly stdin: Writable | undefined;
  readonly stdout: Readable;
  readonly stderr: Readable;
}

export async function openStandardStreams(wanted: { stdin: "none" | "pipe" }): Promise<StandardStreams> {
  const input = wanted.stdin === "pipe" ? await pipes.take("to the program") : undefined;
  const output = await pipes.take("from the program");
  const errors = await pipes.take("from the program");
  return {
    ends: [input?.programEnd ?? (wanted.stdin === "pipe" ? "pipe" : "ignore"), output?.programEnd ?? "pipe", errors?.programEnd ?? "pipe"],
    of: (child) => {
      const [stdin, stdout, stderr] = [input?.ourEnd ?? child.stdin, output?.ourEnd ?? child.stdout, errors?.ourEnd ?? child.stderr];
      // A program that has ended takes nothing any more; its exit code tells.
      stdin?.on("error", () => {});
      return stdout && stderr ? { stdin: stdin ?? undefined, stdout, stderr } : undefined;
    },
    handedOver: () => {
      for (const pipe of [input, output, errors]) pipe?.handedOver();
    },
    finish: ({ reusable }) => {
      // What the program did not read is still in there.
      input?.finish({ reusable: false });
      for (const pipe of [output, errors]) pipe?.finish({ reusable });
    },
  };
}
