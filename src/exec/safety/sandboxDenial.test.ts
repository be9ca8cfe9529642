import { expect, it } from "vitest";
import { APPROVAL_POLICIES } from "../policies.js";
import { type FinishedCommand, isSandboxDenial, retryAfterDenial } from "./sandboxDenial.js";

function ended(exitCode: number, output: Partial<FinishedCommand>): FinishedCommand {
  return { exitCode, stdout: "", stderr: "", aggregated: "", ...output };
}

it.each([
  ["touch: cannot touch 'a': Permission denied", 1],
  ["Operation not permitted", 1],
  ["sh: 1: cannot create a: Read-only file system", 2],
  ["killed by SECCOMP", 1],
  ["the sandbox said no", 126],
  ["landlock", 127],
  ["failed to write file a", 255],
])("words of the sandbox on any stream count: %s (%i)", (text, exitCode) => {
  const outputs = [{ stdout: text }, { stderr: text }, { aggregated: text }];
  expect(outputs.map((output) => isSandboxDenial(ended(exitCode, output), "linux"))).toEqual([true, true, true]);
});

it.each([
  [0, { stderr: "Permission denied" }, false],
  [1, { stderr: "no such file" }, false],
  [2, {}, false],
  [126, {}, false],
  [127, { stderr: "command not found" }, false],
  [-1, {}, false],
  [159, {}, true],
])("exit code %i with %j: %s", (exitCode, output, denied) => {
  expect(isSandboxDenial(ended(exitCode, output), "linux")).toBe(denied);
});

it("a forbidden system call has that exit code on Linux only", () => {
  expect(isSandboxDenial(ended(159, {}), "darwin")).toBe(false);
});

it("a run outside is offered where the policy does not leave the choice to the model", () => {
  expect(Object.fromEntries(APPROVAL_POLICIES.map((policy) => [policy, retryAfterDenial(policy)]))).toEqual({
    untrusted: "ask",
    "on-failure": "ask",
    "on-request": "report",
    never: "report",
  });
});
