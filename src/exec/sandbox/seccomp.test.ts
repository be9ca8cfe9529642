import { describe, expect, it } from "vitest";
import { assemble, seccompFilter } from "./seccomp.js";
import { CALL_TABLES, DENIED_CALLS, MODE_ARGUMENTS, OPENING_CALLS } from "./syscalls.js";

interface Call {
  readonly arch: number;
  readonly number: number;
  readonly args?: readonly number[];
}

/** Runs a filter as the kernel does: one accumulator, and jumps forward. */
function decide(filter: Buffer, { arch, number, args = [] }: Call): string {
  const memory = new Map([[0, number], [4, arch], ...args.map((value, at) => [16 + 8 * at, value] as const)]);
  let loaded = 0;
  for (let at = 0; at < filter.length / 8; at++) {
    const [code, yes, no, value] = [
      filter.readUInt16LE(at * 8),
      filter.readUInt8(at * 8 + 2),
      filter.readUInt8(at * 8 + 3),
      filter.readUInt32LE(at * 8 + 4),
    ];
    if (code === 0x20) loaded = memory.get(value) ?? 0;
    else if (code === 0x15) at += loaded === value ? yes : no;
    else if (code === 0x35) at += loaded >= value ? yes : no;
    else if (code === 0x45) at += (loaded & value) !== 0 ? yes : no;
    else if (code === 0x54) loaded &= value;
    else if (code === 0x06) return ANSWERS.get(value) ?? `0x${value.toString(16)}`;
    else throw new Error(`unknown instruction 0x${code.toString(16)}`);
  }
  throw new Error("ran off the end");
}

const ANSWERS = new Map([
  [0x7fff0000, "allow"],
  [0x80000000, "kill"],
  [0x00050001, "EPERM"],
  [0x00050026, "ENOSYS"],
]);

const AF_UNIX = 1;
const AF_INET = 2;
const AF_INET6 = 10;
const AF_NETLINK = 16;
const AF_TIPC = 30;
const SIGCHLD = 17;
const NEW_USER = 0x10000000;
const NEW_MOUNT = 0x00020000;
const NEW_PID = 0x20000000;
const STREAM = 1;
const DATAGRAM = 2;
const RAW = 3;
const SEQPACKET = 5;
const NONBLOCK_CLOEXEC = 0x80800;
const O_CREAT = 0o100;
const O_TMPFILE = 0o20200000;

describe.each(Object.entries(CALL_TABLES))("the filter for %s", (arch, { auditArch, numbers }) => {
  function verdict(name: keyof typeof numbers, args: number | readonly number[], network = false): string {
    const number = numbers[name];
    if (number === undefined) throw new Error(`${arch} has no ${name}`);
    return decide(filterFor(arch, network), { arch: auditArch, number, args: typeof args === "number" ? [args] : args });
  }

  it("refuses every denied call, with and without network", () => {
    const verdicts = [true, false].flatMap((network) => DENIED_CALLS.map((name) => verdict(name, 0, network)));
    expect(new Set(verdicts)).toEqual(new Set(["EPERM"]));
  });

  it("allows processes, but no user or mount namespaces", () => {
    expect([
      verdict("clone", SIGCHLD),
      verdict("clone", SIGCHLD | NEW_USER),
      verdict("clone", SIGCHLD | NEW_MOUNT),
      verdict("unshare", NEW_PID),
      verdict("unshare", NEW_USER | NEW_PID),
      verdict("clone3", 0),
    ]).toEqual(["allow", "EPERM", "EPERM", "allow", "EPERM", "ENOSYS"]);
  });

  it("refuses all sockets without network, and with it all but network sockets", () => {
    const families = Array.from({ length: 64 }, (_, family) => family);
    const allowed = (network: boolean) => families.filter((family) => verdict("socket", family, network) === "allow");
    expect({ without: allowed(false), with: allowed(true) }).toEqual({ without: [], with: [AF_INET, AF_INET6, AF_NETLINK] });
  });

  it("allows only socket pairs that cannot be connected elsewhere", () => {
    const pair = (family: number, type: number) => [true, false].map((network) => verdict("socketpair", [family, type], network));
    expect([STREAM, SEQPACKET, STREAM | NONBLOCK_CLOEXEC].flatMap((type) => pair(AF_UNIX, type))).toEqual(Array(6).fill("allow"));
    expect([DATAGRAM, RAW, 4, 10, DATAGRAM | NONBLOCK_CLOEXEC].flatMap((type) => pair(AF_UNIX, type))).toEqual(Array(10).fill("EPERM"));
    expect([AF_INET, AF_TIPC].flatMap((family) => pair(family, STREAM))).toEqual(Array(4).fill("EPERM"));
  });

  it("gives no file a set-id bit, by any call", () => {
    const calls = MODE_ARGUMENTS.filter(({ name }) => numbers[name] !== undefined);
    const asked = (mode: number) => calls.map(({ name, at }) => verdict(name, argumentAt(at, mode)));
    expect(new Set([0o4755, 0o2755, 0o6000, 0o104755].flatMap(asked))).toEqual(new Set(["EPERM"]));
    expect(new Set([0o755, 0o1777, 0o100644].flatMap(asked))).toEqual(new Set(["allow"]));
  });

  it("checks the mode of an opened file only if the call may create it", () => {
    const calls = OPENING_CALLS.filter(({ name }) => numbers[name] !== undefined);
    const asked = (opened: number, mode: number) => calls.map(({ name, flags }) => verdict(name, [...argumentAt(flags, opened), mode]));
    expect(new Set([...asked(O_CREAT | 1, 0o4755), ...asked(O_TMPFILE | 2, 0o2755)])).toEqual(new Set(["EPERM"]));
    expect(new Set([...asked(0, 0o4755), ...asked(O_CREAT, 0o644), ...asked(O_TMPFILE, 0o600)])).toEqual(new Set(["allow"]));
    expect(verdict("openat2", 0)).toBe("ENOSYS");
  });

  it("allows everything else", () => {
    const known = new Set<number>(Object.values(numbers));
    const others = Array.from({ length: 470 }, (_, number) => number).filter((number) => !known.has(number));
    expect(new Set(others.map((number) => decide(filterFor(arch, false), { arch: auditArch, number })))).toEqual(new Set(["allow"]));
  });

  it("kills a program of another architecture", () => {
    expect(decide(filterFor(arch, true), { arch: 0x40000003, number: 1 })).toBe("kill");
  });
});

it("the second calling convention of x64 is refused as a whole", () => {
  expect(decide(filterFor("x64", true), { arch: 0xc000003e, number: 0x40000000 + 1 })).toBe("EPERM");
});

it("an architecture without a table has no filter", () => {
  expect(seccompFilter("riscv64", { network: false })).toBeUndefined();
});

it("a jump that the kernel cannot make is an error", () => {
  expect(() => assemble([{ op: "jumpIfEqual", value: 1, to: "nowhere" }])).toThrow(RangeError);
});

function argumentAt(at: number, value: number): number[] {
  return [...Array<number>(at).fill(0), value];
}

function filterFor(arch: string, network: boolean): Buffer {
  const filter = seccompFilter(arch, { network });
  if (!filter) throw new Error(`no filter for ${arch}`);
  return filter;
}
