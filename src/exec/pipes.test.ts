import { spawnSync } from "node:child_process";
import { readSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { type FilledPipe, pipes } from "./pipes.js";

async function filled(text: string): Promise<FilledPipe> {
  const pipe = await pipes.filled(Buffer.from(text));
  if (!pipe) throw new Error("no pipe could be had");
  return pipe;
}

function readBy(script: string, { programEnd, handedOver }: FilledPipe): string {
  const options = { stdio: ["ignore", "pipe", "inherit", programEnd] as ["ignore", "pipe", "inherit", number], timeout: 10_000 };
  const { stdout } = spawnSync("bash", ["-c", script], { ...options, encoding: "utf8" });
  handedOver();
  return stdout;
}

describe.skipIf(process.platform !== "linux")("a pipe that was filled beforehand", () => {
  it("gives a program what was put into it, and ends there", async () => {
    const text = "x".repeat(20_000);
    const pipe = await filled(text);
    expect(readBy("cat <&3", pipe)).toBe(text);
    pipe.finish({ reusable: true });
  });

  it("holds nothing of what an earlier program left unread", async () => {
    for (let use = 0; use < 40; use++) {
      const pipe = await filled(`use ${use}`);
      expect(readBy("head -c 3 <&3", pipe)).toBe("use");
      pipe.finish({ reusable: true });
    }
    const pipe = await filled("the last");
    expect(readBy("cat <&3", pipe)).toBe("the last");
    pipe.finish({ reusable: true });
  });

  it("is not to be had for more than a pipe holds, and costs none then", async () => {
    expect(await pipes.filled(Buffer.alloc(2 ** 20))).toBeUndefined();
    const pipe = await filled("still fine");
    const bytes = Buffer.alloc(100);
    expect(bytes.toString("utf8", 0, readSync(pipe.programEnd, bytes))).toBe("still fine");
    pipe.handedOver();
    pipe.finish({ reusable: true });
  });
});
