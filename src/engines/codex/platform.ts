import path from "node:path";

/** The part of `process` that decides which program can run. */
export interface Machine {
  readonly platform: string;
  readonly arch: string;
}

const TRIPLES: Readonly<Record<string, string>> = {
  "linux-x64": "x86_64-unknown-linux-musl",
  "linux-arm64": "aarch64-unknown-linux-musl",
  "darwin-x64": "x86_64-apple-darwin",
  "darwin-arm64": "aarch64-apple-darwin",
  "win32-x64": "x86_64-pc-windows-msvc",
  "win32-arm64": "aarch64-pc-windows-msvc",
};

/** The npm package with Codex's program for this machine. */
export function platformPackage({ platform, arch }: Machine): string | undefined {
  return TRIPLES[`${platform}-${arch}`] && `@openai/codex-${platform}-${arch}`;
}

/** Where that program can be inside a package; the second place was used before 0.120. */
export function nativeProgramIn(folder: string, { platform, arch }: Machine): string[] {
  const triple = TRIPLES[`${platform}-${arch}`];
  if (triple === undefined) return [];
  const name = platform === "win32" ? "codex.exe" : "codex";
  return ["bin", "codex"].map((place) => path.join(folder, "vendor", triple, place, name));
}

const ELF_MACHINES: Readonly<Record<string, number>> = { x64: 0x3e, arm64: 0xb7 };
const MACH_O = ["cffaedfe", "cafebabe"];

/** Whether a file that begins like this can run here; true where the beginning tells nothing. */
export function matchesMachine(beginning: Buffer, { platform, arch }: Machine): boolean {
  const magic = beginning.toString("hex", 0, 4);
  if (magic === "00000000") return true;
  if (platform === "win32") return magic.startsWith("4d5a");
  if (platform === "darwin") return MACH_O.includes(magic);
  const machine = ELF_MACHINES[arch];
  return magic === "7f454c46" && (machine === undefined || beginning.readUInt16LE(18) === machine);
}
