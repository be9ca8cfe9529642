import { describe, expect, it } from "vitest";
import { denialRemark, denialText, isDismissed } from "./denials.js";
import type { ApprovalDecision } from "./model.js";

type Denial = Extract<ApprovalDecision, { kind: "denied" }>;

describe("a denial", () => {
  it.for([
    [{ by: "elicitation" }, "exec command rejected by user", undefined],
    [{ by: "tool", reason: "use mv" }, "exec command rejected by user: use mv", "The user did not allow `rm a`, and says: use mv"],
    [{ by: "http" }, "exec command rejected by user", undefined],
    [{}, "exec command rejected by user", undefined],
    [{ by: "client", reason: "none" }, "exec command not approved: none", "Nobody rejected `rm a`; it was not approved: none"],
    [{ by: "deadline", reason: "late" }, "exec command not approved: late", "Nobody rejected `rm a`; it was not approved: late"],
    [{ by: "fallback" }, "exec command not approved", "Nobody rejected `rm a`; it was not approved."],
    [{ by: "ceiling", reason: "too far" }, "exec command not approved: too far", "Nobody rejected `rm a`; it was not approved: too far"],
    [{ by: "elicitation", failed: true }, "exec command not approved", "Nobody rejected `rm a`; it was not approved."],
    [{ by: "elicitation", dismissed: true }, "exec command not approved", "Nobody rejected `rm a`; it was not approved."],
  ] as const)("%j reads %j, or %j", ([how, text, remark]) => {
    const denial: Denial = { kind: "denied", ...how };
    expect([denialText("exec command", denial), denialRemark("`rm a`", denial)]).toEqual([text, remark]);
  });
});

it("a closed question, and one with an unreadable answer, are distinguished from a refused one", () => {
  const decisions: readonly ApprovalDecision[] = [
    { kind: "denied", dismissed: true },
    { kind: "denied", failed: true },
    { kind: "denied" },
    { kind: "abort" },
  ];
  expect(decisions.map(isDismissed)).toEqual([true, true, false, false]);
});
