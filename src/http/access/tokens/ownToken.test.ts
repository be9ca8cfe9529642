import { chmodSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { SCOPE_WORDS } from "../../../server/network.js";
import { keepOwnToken } from "./ownToken.js";

function newHome(): string {
  const folder = mkdtempSync(path.join(tmpdir(), "own-token-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  return folder;
}

it("is created once, readable by its user only, and stays the same", () => {
  const home = newHome();
  const { file, token } = keepOwnToken(home, SCOPE_WORDS);
  expect(keepOwnToken(home, SCOPE_WORDS)).toEqual({ file, token });
  expect(token).toMatch(/^[\w-]{43}$/);
  expect(readFileSync(file, "utf8")).toBe(`local ${token} operator\n`);
  expect([statSync(file).mode & 0o777, statSync(path.dirname(file)).mode & 0o777]).toEqual([0o600, 0o700]);
  expect(readdirSync(path.dirname(file))).toEqual(["token"]);
});

it("is replaced if others may have read it", () => {
  const home = newHome();
  const { file, token } = keepOwnToken(home, SCOPE_WORDS);
  chmodSync(file, 0o644);
  expect(keepOwnToken(home, SCOPE_WORDS).token).not.toBe(token);
  expect(statSync(file).mode & 0o777).toBe(0o600);
});

it("is not read through a link", () => {
  const home = newHome();
  writeFileSync(path.join(home, "planted"), "local planted-token-of-somebody operator\n", { mode: 0o600 });
  mkdirSync(path.join(home, "mcp-server"));
  symlinkSync(path.join(home, "planted"), path.join(home, "mcp-server", "token"));
  expect(() => keepOwnToken(home, SCOPE_WORDS)).toThrow(expect.objectContaining({ code: "access_misconfigured" }));
});
