import { StreamWire } from "../../jsonrpc/streamWire.js";
import type { Wire } from "../../jsonrpc/wire.js";

/** This process's stdin and stdout as one Wire. From here on, stdout carries only messages. */
export function openStdio(): Wire {
  const { stdin, stdout } = process;
  const write: (text: string, written: () => void) => boolean = stdout.write.bind(stdout);
  guardStdout();
  return new StreamWire(stdin, { stream: stdout, write });
}

// Output of a dependency, or a forgotten console.log, would corrupt the protocol. It goes to stderr instead.
function guardStdout(): void {
  process.stdout.write = process.stderr.write.bind(process.stderr);
}
