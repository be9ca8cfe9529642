import { appendFileSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
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

async function knownLogin(more: Record<string, string>) {
  const found = await login(more);
  if (found.kind !== "known") throw new Error(`the login is ${found.kind}`);
  return found;
}

function timesRead(): number {
  return readFileSync(path.join(home, "times"), "utf8").split("\n").length - 1;
}

it("has the profile's changes, and no variable of the shell that read it", async () => {
  profile("echo a greeting; export ADDED='two\nlines' PATH=/opt/tools:$PATH; unset REMOVED");
  const { env } = await knownLogin({ REMOVED: "x", KEPT: "y", SHLVL: "5" });
  expect(env).toEqual({
    HOME: home,
    ADDED: "two\nlines",
    KEPT: "y",
    SHLVL: "5",
    PATH: expect.stringContaining("/opt/tools:"),
  });
});

it("is read once, even for several concurrent readers, and again for other variables", async () => {
  await Promise.all([login(), login()]);
  await login();
  const first = timesRead();
  await login({ OTHER: "1" });
  expect([first, timesRead()]).toEqual([1, 2]);
});

it.for([
  ["exit 3", "it ends with exit code 3"],
  ["exit 0", "it ends the shell before a command runs"],
  ["exec true", "it ends the shell before a command runs"],
] as const)("fails when the profile says `%s`: %s", async ([line, why]) => {
  profile(line);
  expect(await login()).toEqual({ kind: "failed", why, ms: expect.any(Number) });
});

it("does not exist for an unsupported or missing shell", async () => {
  writeFileSync(path.join(home, "fish"), "");
  expect(await login({ shell: path.join(home, "fish") })).toEqual({ kind: "unknown" });
  const missing = path.join(home, "bash");
  expect(await login({ shell: missing })).toEqual({ kind: "unknown" });
  symlinkSync("/bin/bash", missing);
  expect(await login({ shell: missing })).toMatchObject({ kind: "known" });
});

it("fails if the profile takes too long, and then at once for a while", async () => {
  let time = 0;
  logins = new LoginEnvironments({ now: () => time });
  profile("test -e $HOME/mended || sleep 60");
  const failed = { kind: "failed", why: "it takes longer than 5 seconds", ms: expect.any(Number) };
  expect([await login(), await login()]).toEqual([failed, failed]);
  writeFileSync(path.join(home, "mended"), "");
  time = 10 * 60_000 - 1;
  expect([await login(), timesRead()]).toEqual([failed, 1]);
  time = 10 * 60_000;
  expect([await login(), timesRead()]).toEqual([expect.objectContaining({ kind: "known" }), 2]);
});

it("is known ahead only after it has been read once", async () => {
  const shell = { shell: "/bin/bash", env: { PATH: process.env["PATH"] ?? "", HOME: home }, seenBy: "the user" };
  const asked = { ...shell, wrap: () => expect.unreachable("the profile is read") };
  const before = logins.known(asked);
  const read = await login();
  expect([before, await logins.known(asked), timesRead()]).toEqual([undefined, read, 1]);
});
