import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { ownRun, runName } from "../platform/processes.js";
import { type ProgramEnd, type ProgramPipe, pipes, removeLeftPipes } from "./pipes.js";

async function taken(): Promise<ProgramPipe> {
  const pipe = await pipes.take("fromProgram");
  if (!pipe) throw new Error("no pipe could be had");
  return pipe;
}

async function readAll({ ourEnd }: ProgramPipe): Promise<string> {
  let text = "";
  for await (const chunk of ourEnd) text += String(chunk);
  return text;
}

describe.skipIf(process.platform !== "linux")("a pipe that is used again", () => {
  it("contains no unread output of an earlier command", async () => {
    for (let use = 0; use < 20; use++) {
      const former = await taken();
      writeSync(former.programEnd, "left behind");
      former.handedOver();
      former.finish({ reusable: true });
      const next = await taken();
      writeSync(next.programEnd, `use ${use}`);
      next.handedOver();
      expect(await readAll(next)).toBe(`use ${use}`);
      next.finish({ reusable: true });
    }
  });

  it("is never one that another process could still write to", async () => {
    const former = await taken();
    former.finish({ reusable: true });
    expect(() => writeSync(former.programEnd, "late")).toThrow("EPIPE");
    former.handedOver();
  });
});

describe.skipIf(process.platform !== "linux")("a pipe that is filled with a text", () => {
  const readBy = ({ programEnd }: ProgramEnd) => {
    const { stdout } = spawnSync("cat", { stdio: [programEnd, "pipe", "inherit"], encoding: "utf8" });
    return stdout;
  };

  it("ends after the text, and is used again once the text was read", async () => {
    for (const text of ["a text", "another", ""]) {
      const pipe = await pipes.filledWith(Buffer.from(text));
      if (!pipe) throw new Error("no pipe could be had");
      expect(readBy(pipe)).toBe(text);
      pipe.handedOver();
      pipe.finish({ reusable: true });
    }
  });

  it("does not exist for a text that is too long, and is not used again if its text was not read", async () => {
    expect(await pipes.filledWith(Buffer.alloc(10_000_000))).toBeUndefined();
    const unread = await pipes.filledWith(Buffer.from("not read"));
    unread?.handedOver();
    unread?.finish({ reusable: true });
    const next = await taken();
    next.handedOver();
    expect(await readAll(next)).toBe("");
    next.finish({ reusable: true });
  });
});

it("what killed servers left while they made pipes is removed, and nothing else", () => {
  const parent = mkdtempSync(path.join(tmpdir(), "left-pipes-"));
  try {
    const left = `codex-mcpd-pipes.${runName({ ...ownRun(), startTime: "1" })}.aaaaaa`;
    const used = `codex-mcpd-pipes.${runName(ownRun())}.bbbbbb`;
    const link = left.replace("aaaaaa", "cccccc");
    for (const name of [left, used, "others"]) mkdirSync(path.join(parent, name));
    writeFileSync(path.join(parent, left, "0"), "");
    symlinkSync("others", path.join(parent, link));
    // Another user may have put this there.
    const loop = "codex-mcpd-pipes.h-1.1-1.dddddd";
    symlinkSync(loop, path.join(parent, loop));
    removeLeftPipes(parent);
    expect(readdirSync(parent).sort()).toEqual([used, link, loop, "others"].sort());
  } finally {
    rmSync(parent, { recursive: true });
  }
});
