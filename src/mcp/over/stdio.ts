import { StreamWire } from "../../jsonrpc/streamWire.js";
import type { Wire } from "../../jsonrpc/wire.js";

/** This process's stdin and stdout as one Wire. From here on stdout carries messages and nothing else. */
export function openStdio(): Wire {
  const { stdin, stdout } = process;
  const write = stdout.write.bind(stdout);
  guardStdout();
  return new StreamWire(stdin, { stream: stdout, write: (text, written) => write(text, undefined, written) });
}

// A dependency (or a forgotten console.log) that prints would corrupt the protocol; what it prints goes to stderr instead.
function guardStdout(): void {
  process.stdout.write = process.stderr.write.bind(process.stderr);
}
