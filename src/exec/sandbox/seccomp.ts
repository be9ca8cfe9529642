import { assemble, type Instruction } from "./bpf.js";
import { CALL_TABLES, DENIED_CALLS } from "./syscalls.js";

const ALLOW = 0x7fff0000;
const KILL_PROCESS = 0x80000000;
const EPERM = 0x00050001;
const ENOSYS = 0x00050026;

/** Offsets in the kernel's `struct seccomp_data`; the low half of an argument comes first. */
const CALL_NUMBER = 0;
const ARCHITECTURE = 4;
const FIRST_ARGUMENT = 16;

const CLONE_NEWNS = 0x00020000;
const CLONE_NEWUSER = 0x10000000;
const AF_UNIX = 1;

/**
 * The filter that every sandboxed command runs under, or undefined on an architecture without a table.
 * Without network no socket can be made (pairs stay: Node and shells need them). With network it is UNIX sockets that are
 * refused, because one of the host's container or agent sockets would lead out of the sandbox.
 */
export function seccompFilter(arch: string, { network }: { network: boolean }): Buffer | undefined {
  const table = CALL_TABLES[arch];
  if (!table) return undefined;
  const { numbers, auditArch, foreignFrom } = table;
  const refuseAll = (value: number): Instruction => ({ op: "jumpIfEqual", value, to: "refuse" });
  return assemble([
    { op: "load", offset: ARCHITECTURE },
    { op: "jumpIfEqual", value: auditArch, to: "known architecture" },
    { op: "return", value: KILL_PROCESS },
    { label: "known architecture", op: "load", offset: CALL_NUMBER },
    ...(foreignFrom === undefined ? [] : [{ op: "jumpIfAtLeast", value: foreignFrom, to: "refuse" } satisfies Instruction]),
    ...DENIED_CALLS.map((name) => refuseAll(numbers[name])),
    // Its flags are behind a pointer, which a filter cannot follow; libc falls back to clone.
    { op: "jumpIfEqual", value: numbers.clone3, to: "not there" },
    { op: "jumpIfEqual", value: numbers.clone, to: "new namespace?" },
    { op: "jumpIfEqual", value: numbers.unshare, to: "new namespace?" },
    { op: "jumpIfEqual", value: numbers.socket, to: network ? "UNIX socket?" : "refuse", otherwise: "allow" },
    { label: "new namespace?", op: "load", offset: FIRST_ARGUMENT },
    { op: "jumpIfAnyBit", value: CLONE_NEWUSER | CLONE_NEWNS, to: "refuse", otherwise: "allow" },
    { label: "UNIX socket?", op: "load", offset: FIRST_ARGUMENT },
    { op: "jumpIfEqual", value: AF_UNIX, to: "refuse", otherwise: "allow" },
    { label: "allow", op: "return", value: ALLOW },
    { label: "refuse", op: "return", value: EPERM },
    { label: "not there", op: "return", value: ENOSYS },
  ]);
}
