import { describe, expect, it } from "vitest";
import { needsNobody } from "./safeCommands.js";

const METHOD = "item/commandExecution/requestApproval";
const PROGRAMS = { find: (name: string) => (name === "planted" ? undefined : `/usr/bin/${name}`), distrusted: () => [] };
const HERE = { settings: { approvalPolicy: "untrusted" }, guard: { reach: undefined }, programs: PROGRAMS } as const;

function asking(script: string, more: Readonly<Record<string, unknown>> = {}) {
  return { kind: "command", command: `/bin/bash -lc '${script}'`, proposedExecpolicyAmendment: ["x"], reason: null, ...more };
}

describe("a question of Codex under untrusted", () => {
  it.each(["ls -la", "cat a.txt | head -3", "pwd && wc -l a"])("needs no approval: %s", async (script) => {
    expect(await needsNobody(METHOD, asking(script), HERE)).toBe(true);
  });

  it.each(["touch a", "ls; rm -rf /", "cat a > b", "./ls", "git status", "ls $(touch a)", ""])("needs approval: %s", async (script) => {
    expect(await needsNobody(METHOD, asking(script), HERE)).toBe(false);
  });

  it.each<[string, object]>([
    ["gives a reason: a rule, or the wish to leave the sandbox", { reason: "no cats" }],
    ["comes from a rule", { proposedExecpolicyAmendment: null }],
    ["wants the network", { networkApprovalContext: { host: "x.test" } }],
    ["wants more rights", { additionalPermissions: { network: { enabled: true } } }],
    ["is about something else", { kind: "writeStdin" }],
  ])("needs approval when it %s", async (_why, more) => {
    expect(await needsNobody(METHOD, asking("ls", { ...more }), HERE)).toBe(false);
  });

  it("needs approval for a network caller, under other policies, for other questions, and where a program may be planted", async () => {
    const everywhere = [
      { ...HERE, guard: { reach: { folders: ["/ws"] } } },
      { ...HERE, settings: { approvalPolicy: "on-request" } as const },
      { ...HERE, programs: { ...PROGRAMS, distrusted: () => ["/ws/bin/ls"] } },
    ];
    for (const where of everywhere) expect(await needsNobody(METHOD, asking("ls"), where)).toBe(false);
    expect(await needsNobody("item/fileChange/requestApproval", asking("ls"), HERE)).toBe(false);
  });
});
