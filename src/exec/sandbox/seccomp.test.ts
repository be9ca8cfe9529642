import { describe, expect, it } from "vitest";
import { assemble } from "./bpf.js";
import { seccompFilter } from "./seccomp.js";
import { CALL_TABLES, DENIED_CALLS } from "./syscalls.js";

interface Call {
  readonly arch: number;
  readonly number: number;
  readonly argument?: number;
}

/** Runs a filter as the kernel does: one accumulator, and jumps forward. */
function decide(filter: Buffer, { arch, number, argument = 0 }: Call): string {
  const memory = new Map([
    [0, number],
    [4, arch],
    [16, argument],
  ]);
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
const SIGCHLD = 17;
const NEW_USER = 0x10000000;
const NEW_MOUNT = 0x00020000;
const NEW_PID = 0x20000000;

describe.each(Object.entries(CALL_TABLES))("the filter for %s", (arch, { auditArch, numbers }) => {
  function verdict(name: keyof typeof numbers, argument: number, network = false): string {
    return decide(filterFor(arch, network), { arch: auditArch, number: numbers[name], argument });
  }

  it("refuses every denied call, with and without network", () => {
    const verdicts = [true, false].flatMap((network) => DENIED_CALLS.map((name) => verdict(name, 0, network)));
    expect(new Set(verdicts)).toEqual(new Set(["EPERM"]));
  });

  it("lets processes be made, but no user or mount namespaces", () => {
    expect([
      verdict("clone", SIGCHLD),
      verdict("clone", SIGCHLD | NEW_USER),
      verdict("clone", SIGCHLD | NEW_MOUNT),
      verdict("unshare", NEW_PID),
      verdict("unshare", NEW_USER | NEW_PID),
      verdict("clone3", 0),
    ]).toEqual(["allow", "EPERM", "EPERM", "allow", "EPERM", "ENOSYS"]);
  });

  it("refuses all sockets without network, and UNIX sockets with it", () => {
    expect([
      verdict("socket", AF_INET),
      verdict("socket", AF_UNIX),
      verdict("socket", AF_INET, true),
      verdict("socket", AF_UNIX, true),
    ]).toEqual(["EPERM", "EPERM", "allow", "EPERM"]);
  });

  it("lets everything else pass", () => {
    const known = new Set(Object.values(numbers));
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

function filterFor(arch: string, network: boolean): Buffer {
  const filter = seccompFilter(arch, { network });
  if (!filter) throw new Error(`no filter for ${arch}`);
  return filter;
}
