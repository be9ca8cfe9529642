import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import path from "node:path";
import { expect, it } from "vitest";
import { tempHome } from "../../../test/support/threads/rollouts.js";
import { sharedSecret } from "./sharedSecret.js";

it("is the same for all concurrent and later readers, and private to the user", async () => {
  using home = tempHome();
  const made = await Promise.all(Array.from({ length: 8 }, () => sharedSecret(home.path, "key")));
  const again = await sharedSecret(home.path, "key");
  expect(new Set([...made, again].map((secret) => secret.toString("hex"))).size).toBe(1);
  const folder = path.join(home.path, "mcp-server");
  expect([readdirSync(folder), statSync(path.join(folder, "key")).mode & 0o777, again.length]).toEqual([["key"], 0o600, 32]);
  expect(again.equals(await sharedSecret(home.path, "another"))).toBe(false);
});

it.for(["", "torn", "x".repeat(33)])("is created again if the file contains %j", async (text) => {
  using home = tempHome();
  mkdirSync(path.join(home.path, "mcp-server"));
  const file = path.join(home.path, "mcp-server/key");
  writeFileSync(file, text);
  const secret = await sharedSecret(home.path, "key");
  expect([secret.equals(readFileSync(file)), secret.equals(await sharedSecret(home.path, "key"))]).toEqual([true, true]);
});

it("is separate for each process if it cannot be stored", async () => {
  using home = tempHome();
  writeFileSync(path.join(home.path, "mcp-server"), "in the way");
  const [one, other] = [await sharedSecret(home.path, "key"), await sharedSecret(home.path, "key")];
  expect([one.length, one.equals(other)]).toEqual([32, false]);
});
