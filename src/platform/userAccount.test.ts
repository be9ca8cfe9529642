import { userInfo } from "node:os";
import { describe, expect, it } from "vitest";
import { userHome } from "./userAccount.js";

describe("the user's home folder", () => {
  it("is HOME", () => {
    expect(userHome({ HOME: "/nowhere/me" })).toBe("/nowhere/me");
  });

  it.for(["", ".", "me"])("is never HOME=%j, which would be a place in the working directory", (HOME) => {
    expect([process.env["HOME"], userInfo().homedir]).toContain(userHome({ HOME }));
  });
});
