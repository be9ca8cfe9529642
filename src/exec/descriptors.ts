import type { ChildProcess } from "node:child_process";
import type { Descriptor } from "./launch.js";
import { type FilledPipe, pipes } from "./pipes.js";
import type { End, StandardStreams } from "./standardStreams.js";

/** What a program finds on its descriptors 3, 4, … */
export interface ExtraDescriptors extends Pick<StandardStreams, "ends" | "handedOver" | "finish"> {
  /** Gives the program what did not fit into a pipe beforehand. */
  feed(child: ChildProcess): void;
}

export async function openDescriptors(descriptors: readonly Descriptor[]): Promise<ExtraDescriptors> {
  const filled: (FilledPipe | undefined)[] = [];
  for (const descriptor of descriptors) filled.push(descriptor.kind === "bytes" ? await pipes.filled(descriptor.bytes) : undefined);
  return {
    ends: descriptors.map((descriptor, at): End => (descriptor.kind === "open" ? descriptor.fd : (filled[at]?.programEnd ?? "pipe"))),
    handedOver: () => {
      for (const pipe of filled) pipe?.handedOver();
    },
    finish: (options) => {
      for (const pipe of filled) pipe?.finish(options);
    },
    feed: (child) => {
      for (const [at, descriptor] of descriptors.entries()) {
        const stream = child.stdio[3 + at];
        // A program that has ended takes nothing any more; its exit code tells.
        stream?.on("error", () => {});
        if (descriptor.kind === "bytes" && stream && "write" in stream) stream.end(descriptor.bytes);
      }
    },
  };
}
