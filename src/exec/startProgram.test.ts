import { closeSync, fstatSync, readFileSync, readlinkSync, writeSync } from "node:fs";
import { afterEach, describe, expect, it, vi } from "vitest";
import type { Launch } from "./launch.js";
import { openNamelessFile } from "./pipes.js";
import { runCommand } from "./run.js";

vi.mock("./pipes.js", { spy: true });
const onLinux = it.runIf(process.platform === "linux");

afterEach(() => {
  vi.mocked(openNamelessFile).mockReset();
});

describe("a nameless file", () => {
  onLinux("has the bytes, for reading only, and no name", () => {
    const bytes = Buffer.from(`${"some words\0".repeat(20_000)}the end`);
    const fd = openNamelessFile(bytes) ?? -1;
    try {
      expect(readFileSync(fd).equals(bytes)).toBe(true);
      expect(() => writeSync(fd, "x")).toThrow("EBADF");
      expect(fstatSync(fd).nlink).toBe(0);
      expect(readlinkSync(`/proc/self/fd/${fd}`)).toMatch(/ \(deleted\)$/);
    } finally {
      closeSync(fd);
    }
  });

  onLinux("is what a program is given; a pipe where there is none", async () => {
    const launch = (): Launch => ({
      program: "bash",
      args: ["-c", "cat <&3"],
      cwd: "/",
      env: { PATH: process.env["PATH"] ?? "" },
      descriptors: [{ kind: "bytes", bytes: Buffer.from("what it shall read") }],
      containment: { kind: "group", mark: "NAMELESS_FILE_TEST=1" },
      release: () => [],
    });
    const said = async () => (await runCommand(launch()).result).stdout;
    expect(await said()).toBe("what it shall read");
    expect(openNamelessFile).toHaveReturnedWith(expect.any(Number));
    vi.mocked(openNamelessFile).mockReturnValue(undefined);
    expect(await said()).toBe("what it shall read");
  });
});
