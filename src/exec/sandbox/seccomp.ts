import { CALL_TABLES, type CallTable, DENIED_CALLS, MODE_ARGUMENTS, OPENING_CALLS } from "./syscalls.js";

const ALLOW = 0x7fff0000;
const KILL_PROCESS = 0x80000000;
const EPERM = 0x00050001;
const ENOSYS = 0x00050026;

/** Offsets in the kernel's `struct seccomp_data`; the low half of an argument comes first, and the calls below need no more. */
const CALL_NUMBER = 0;
const ARCHITECTURE = 4;
const argument = (position: number): number => 16 + 8 * position;

const CLONE_NEWNS = 0x00020000;
const CLONE_NEWUSER = 0x10000000;
const AF_UNIX = 1;
const AF_INET = 2;
const AF_INET6 = 10;
const AF_NETLINK = 16;
const SOCK_STREAM = 1;
const SOCK_SEQPACKET = 5;
/** The remaining bits of a socket's type are SOCK_NONBLOCK and SOCK_CLOEXEC. */
const SOCK_TYPE = 0xf;
const O_CREAT = 0o100;
/** Without O_DIRECTORY, which always accompanies it and has another value on arm64. */
const O_TMPFILE = 0o20000000;
const SET_USER_ID_OR_GROUP_ID = 0o6000;

/**
 * The filter for every sandboxed command; undefined on an architecture without a table.
 * Without network, no socket can be created. With network, only network sockets can: a UNIX socket of the host's container runtime or agent
 * would lead out of the sandbox, and so might other families. Socket pairs serve communication within a program (Node and shells need
 * them), so only kinds that cannot be redirected are allowed: a datagram pair can reach every UNIX socket of the machine.
 * No file may get a set-user-id or set-group-id bit: it would lend the server's rights to anyone who runs the file, even after the sandbox
 * ends.
 */
export function seccompFilter(arch: string, { network }: { network: boolean }): Buffer | undefined {
  const table = CALL_TABLES[arch];
  if (!table) return undefined;
  const { numbers, auditArch, foreignFrom } = table;
  const goTo = (to: string, name: keyof CallTable["numbers"]): Instruction[] => {
    const value = numbers[name];
    return value === undefined ? [] : [{ op: "jumpIfEqual", value, to }];
  };
  return assemble([
    { op: "load", offset: ARCHITECTURE },
    { op: "jumpIfEqual", value: auditArch, to: "known architecture" },
    { op: "return", value: KILL_PROCESS },
    { label: "known architecture", op: "load", offset: CALL_NUMBER },
    ...(foreignFrom === undefined ? [] : [{ op: "jumpIfAtLeast", value: foreignFrom, to: "refuse" } satisfies Instruction]),
    // First, because the kernel caches the result for calls whose arguments do not matter, and these are the most frequent.
    ...OPENING_CALLS.flatMap(({ name, flags }) => goTo(`created? flags ${flags}`, name)),
    ...MODE_ARGUMENTS.flatMap(({ name, at }) => goTo(`mode ${at}`, name)),
    ...DENIED_CALLS.flatMap((name) => goTo("refuse", name)),
    // Their arguments are behind a pointer, which a filter cannot follow; libc falls back to clone, and programs do not rely on openat2.
    ...goTo("not there", "clone3"),
    ...goTo("not there", "openat2"),
    ...goTo("new namespace?", "clone"),
    ...goTo("new namespace?", "unshare"),
    ...goTo("pair", "socketpair"),
    { op: "jumpIfEqual", value: numbers.socket, to: network ? "socket" : "refuse", otherwise: "allow" },
    { label: "new namespace?", op: "load", offset: argument(0) },
    { op: "jumpIfAnyBit", value: CLONE_NEWUSER | CLONE_NEWNS, to: "refuse", otherwise: "allow" },
    { label: "socket", op: "load", offset: argument(0) },
    ...[AF_INET, AF_INET6, AF_NETLINK].map((value): Instruction => ({ op: "jumpIfEqual", value, to: "allow" })),
    { op: "return", value: EPERM },
    { label: "pair", op: "load", offset: argument(0) },
    { op: "jumpIfEqual", value: AF_UNIX, to: "pair of its own kind", otherwise: "refuse" },
    { label: "pair of its own kind", op: "load", offset: argument(1) },
    { op: "keepBits", value: SOCK_TYPE },
    { op: "jumpIfEqual", value: SOCK_STREAM, to: "allow" },
    { op: "jumpIfEqual", value: SOCK_SEQPACKET, to: "allow", otherwise: "refuse" },
    ...createdWith({ flags: 1, mode: 2 }),
    ...createdWith({ flags: 2, mode: 3 }),
    ...[1, 2, 3].flatMap((at): Instruction[] => [
      { label: `mode ${at}`, op: "load", offset: argument(at) },
      { op: "jumpIfAnyBit", value: SET_USER_ID_OR_GROUP_ID, to: "refuse", otherwise: "allow" },
    ]),
    { label: "allow", op: "return", value: ALLOW },
    { label: "refuse", op: "return", value: EPERM },
    { label: "not there", op: "return", value: ENOSYS },
  ]);
}

/** The mode only matters when a file may be created; otherwise programs leave an arbitrary value there. */
function createdWith({ flags, mode }: { flags: number; mode: number }): Instruction[] {
  return [
    { label: `created? flags ${flags}`, op: "load", offset: argument(flags) },
    { op: "jumpIfAnyBit", value: O_CREAT | O_TMPFILE, to: `mode ${mode}`, otherwise: "allow" },
  ];
}

/**
 * The few instructions of classic BPF that a system call filter needs. Jumps name a label; without `otherwise` the next instruction
 * follows. `keepBits` keeps only those bits of the loaded value.
 */
type Instruction = { readonly label?: string } & (
  | { readonly op: "load"; readonly offset: number }
  | {
      readonly op: "jumpIfEqual" | "jumpIfAtLeast" | "jumpIfAnyBit";
      readonly value: number;
      readonly to: string;
      readonly otherwise?: string;
    }
  | { readonly op: "keepBits" | "return"; readonly value: number }
);

const CODES = { load: 0x20, jumpIfEqual: 0x15, jumpIfAtLeast: 0x35, jumpIfAnyBit: 0x45, keepBits: 0x54, return: 0x06 } as const;
const INSTRUCTION_BYTES = 8;
const LONGEST_JUMP = 0xff;

/** Little-endian `u16 code, u8 ifTrue, u8 ifFalse, u32 value`, like the kernel's `struct sock_filter`. */
export function assemble(program: readonly Instruction[]): Buffer {
  const labels = new Map(program.map(({ label }, at) => [label, at]));
  const bytes = Buffer.alloc(program.length * INSTRUCTION_BYTES);
  for (const [at, instruction] of program.entries()) {
    const start = at * INSTRUCTION_BYTES;
    bytes.writeUInt16LE(CODES[instruction.op], start);
    bytes.writeUInt32LE(instruction.op === "load" ? instruction.offset : instruction.value, start + 4);
    if (!("to" in instruction)) continue;
    bytes.writeUInt8(distance(labels, at, instruction.to), start + 2);
    if (instruction.otherwise !== undefined) bytes.writeUInt8(distance(labels, at, instruction.otherwise), start + 3);
  }
  return bytes;
}

/** The kernel does not allow backward jumps. */
function distance(labels: ReadonlyMap<string | undefined, number>, from: number, label: string): number {
  const steps = (labels.get(label) ?? -1) - from - 1;
  if (steps < 0 || steps > LONGEST_JUMP) throw new RangeError(`A jump to "${label}" cannot be encoded.`);
  return steps;
}
