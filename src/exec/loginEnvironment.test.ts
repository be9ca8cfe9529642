import { appendFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { LoginEnvironments } from "./loginEnvironment.js";
import { launchPlainly } from "./sandbox/fullAccess.js";

let home: string;
let logins: LoginEnvironments;
beforeEach(() => {
  home = mkdtempSync(path.join(tmpdir(), "login-"));
  logins = new LoginEnvironments();
  profile(`echo read >> ${home}/times`);
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

function profile(line: string): void {
  appendFileSync(path.join(home, ".bash_profile"), `${line}\n`);
}

function login({ shell = "/bin/bash", ...more }: Record<string, string> = {}) {
  const env = { PATH: process.env["PATH"] ?? "", HOME: home, ...more };
  return logins.of({ shell, env, seenBy: "the user", wrap: (argv, given) => launchPlainly({ argv, cwd: home, env: given }) });
}

function timesRead(): number {
  return readFileSync(path.join(home, "times"), "utf8").split("\n").length - 1;
}

it("holds what the profile sets, adds to and removes, and nothing of the shell that read it", async () => {
  profile("echo a greeting; export ADDED='two\nlines' PATH=/opt/tools:$PATH; unset REMOVED");
  expect(await login({ REMOVED: "x", KEPT: "y", SHLVL: "5" })).toEqual({
    HOME: home,
    ADDED: "two\nlines",
    KEPT: "y",
    SHLVL: "5",
    PATH: expect.stringContaining("/opt/tools:"),
  });
});

it("is asked for once, also by several at a time, and again for other variables", async () => {
  await Promise.all([login(), login()]);
  await login();
  const first = timesRead();
  await login({ OTHER: "1" });
  expect([first, timesRead()]).toEqual([1, 2]);
});

it("is unknown when the profile fails or ends the shell", async () => {
  profile("exit 3");
  expect(await login()).toBeUndefined();
});

it("is unknown for a program that is no shell we know", async () => {
  writeFileSync(path.join(home, "fish"), "");
  expect(await login({ shell: path.join(home, "fish") })).toBeUndefined();
});

it("is unknown when the profile takes too long", async () => {
  profile("sleep 60");
  expect(await login()).toBeUndefined();
}, 15_000);
