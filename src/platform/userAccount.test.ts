import { userInfo } from "node:os";
import { describe, expect, it } from "vitest";
import { userHome, userShell } from "./userAccount.js";

describe("the user's home folder", () => {
  it("is HOME", () => {
    expect(userHome({ HOME: "/nowhere/me" })).toBe("/nowhere/me");
  });

  it.for(["", ".", "me"])("is never HOME=%j, which would be a place in the working directory", (HOME) => {
    expect([process.env["HOME"], userInfo().homedir]).toContain(userHome({ HOME }));
  });
});

describe("the shell of a command line", () => {
  it.for([
    ["/bin/sh", "/bin/sh"],
    ["/usr/sbin/nologin", "/bin/bash"],
    ["/bin/false", "/bin/bash"],
    ["/nowhere/zsh", "/bin/bash"],
    ["", "/bin/bash"],
    [undefined, "/bin/bash"],
  ] as const)("with SHELL=%s is %s", ([SHELL, shell]) => {
    expect(userShell({ SHELL })).toBe(shell);
  });
});
