import { mkdirSync, readdirSync, rmSync, statSync, utimesSync, writeFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { tempHome } from "../../../test/support/threads/rollouts.js";
import { newThreadId, type ThreadId } from "../../lib/ids.js";
import { StorageFailed } from "../../threads/errors.js";
import { OwnerFiles } from "./owners.js";

function fileOf(codexHome: string, id: ThreadId): string {
  return path.join(codexHome, "mcp-server", "owners", `${id}.json`);
}

/** Writes a file that another program could have left. */
function leave(codexHome: string, id: ThreadId, content: string): void {
  mkdirSync(path.dirname(fileOf(codexHome, id)), { recursive: true });
  writeFileSync(fileOf(codexHome, id), content);
}

describe("a thread's owner", () => {
  it("is known to every process that shares the folder, and to those that come later", async () => {
    using home = tempHome();
    const [mine, yours, nobodys] = [newThreadId(), newThreadId(), newThreadId()];
    await new OwnerFiles(home.path).keep(mine, "alice");
    await new OwnerFiles(home.path).keep(yours, 'b"o\nb ☃');
    const later = new OwnerFiles(home.path);
    expect(await Promise.all([mine, yours, nobodys].map((id) => later.ownerOf(id)))).toEqual(["alice", 'b"o\nb ☃', undefined]);
  });

  it("is known of all threads that have one, even right after another process has recorded one", async () => {
    using home = tempHome();
    const owners = new OwnerFiles(home.path);
    expect(await owners.owned()).toEqual(new Set());
    const [mine, yours] = [newThreadId(), newThreadId()];
    await owners.keep(mine, "alice");
    expect(await owners.owned()).toEqual(new Set([mine]));
    await new OwnerFiles(home.path).keep(yours, "bob");
    writeFileSync(`${fileOf(home.path, yours)}.0a1b2c.new`, "");
    expect(await owners.owned()).toEqual(new Set([mine, yours]));
    const past = new Date(Date.now() - 60_000);
    utimesSync(path.dirname(fileOf(home.path, mine)), past, past);
    rmSync(fileOf(home.path, mine));
    expect(await owners.owned()).toEqual(new Set([yours]));
  });

  it("can be read by its user only, and leaves no draft behind", async () => {
    using home = tempHome();
    const id = newThreadId();
    await new OwnerFiles(home.path).keep(id, "alice");
    const folder = path.dirname(fileOf(home.path, id));
    expect(readdirSync(folder)).toEqual([`${id}.json`]);
    expect([statSync(folder).mode & 0o777, statSync(fileOf(home.path, id)).mode & 0o777]).toEqual([0o700, 0o600]);
  });

  it("that is being written counts only when it is whole", async () => {
    using home = tempHome();
    const id = newThreadId();
    leave(home.path, newThreadId(), "");
    writeFileSync(`${fileOf(home.path, id)}.0a1b2c.new`, '{"principal":"al');
    expect(await new OwnerFiles(home.path).ownerOf(id)).toBeUndefined();
  });

  it.for(["", "{", "[]", '{"principal":5}', `{"principal":"${"a".repeat(9_000)}"}`])(
    "that cannot be read is an error, and not a missing owner: %#",
    async (torn) => {
      using home = tempHome();
      const id = newThreadId();
      leave(home.path, id, torn);
      await expect(new OwnerFiles(home.path).ownerOf(id)).rejects.toThrow(StorageFailed);
    },
  );

  it("that cannot be kept is an error with the reason", async () => {
    using home = tempHome();
    writeFileSync(path.join(home.path, "mcp-server"), "in the way");
    await expect(new OwnerFiles(home.path).keep(newThreadId(), "alice")).rejects.toThrow(StorageFailed);
  });
});
