/**
 * The few instructions of classic BPF that a system call filter needs. Jumps name a label; without `otherwise` the next
 * instruction follows. `keepBits` leaves those bits of what was loaded, and nothing else.
 */
export type Instruction = { readonly label?: string } & (
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

/** Little-endian `u16 code, u8 ifTrue, u8 ifFalse, u32 value`, as the kernel's `struct sock_filter`. */
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

/** The kernel knows no jumps backwards. */
function distance(labels: ReadonlyMap<string | undefined, number>, from: number, label: string): number {
  const steps = (labels.get(label) ?? -1) - from - 1;
  if (steps < 0 || steps > LONGEST_JUMP) throw new RangeError(`A jump to "${label}" cannot be encoded.`);
  return steps;
}
