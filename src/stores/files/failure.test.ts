import { expect, it } from "vitest";
import { storageFailure } from "./failure.js";

it("a folder that Node could not create on a read-only file system gets the remedy of a folder without permission", () => {
  const error = Object.assign(new Error("ENOENT: no such file or directory, mkdir '/home/me/.codex/log'"), {
    errno: -2,
    code: "ENOENT",
    syscall: "mkdir",
  });
  expect(storageFailure("lock the thread with", "/home/me/.codex/log/x", error).message).toBe(
    "Cannot lock the thread with /home/me/.codex/log/x: no such file or directory. Make it writable for this user, or set CODEX_HOME to a folder that is.",
  );
});
