import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { ConfigInvalid } from "./errors.js";
import { readInstructionFile } from "./instructionFile.js";

it("an instruction file gives its text without the space around it", () => {
  expect(readInstructionFile(fileWith("\n Be brief.\n\nBe kind.\n"), "model instructions file")).toBe("Be brief.\n\nBe kind.");
});

it("an empty instruction file is refused by name", () => {
  const file = fileWith(" \n");
  expect(() => readInstructionFile(file, "model instructions file")).toThrow(
    new ConfigInvalid(`model instructions file is empty: ${file}`),
  );
});

it("an unreadable instruction file is refused by name", () => {
  expect(() => readInstructionFile("/no/such/file", "compact prompt file")).toThrow(
    expect.objectContaining({ code: "config_invalid", message: "failed to read compact prompt file /no/such/file: ENOENT" }),
  );
});

function fileWith(content: string): string {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), "instructions-"));
  onTestFinished(() => fs.rmSync(folder, { recursive: true }));
  const file = path.join(folder, "base.md");
  fs.writeFileSync(file, content);
  return file;
}
