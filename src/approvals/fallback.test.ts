import { expect, it } from "vitest";
import { NO_SANDBOX } from "../exec/errors.js";
import { decideWithoutClient } from "./fallback.js";
import type { ApprovalSubject } from "./model.js";

const KINDS = {
  command: { kind: "command", callId: "c", command: ["ls"], commandText: "ls", cwd: "/", parsed: [] },
  patch: { kind: "patch", callId: "c", changes: {} },
} as const;
const APPROVED = { kind: "approved" };
const CANNOT_ASK = { kind: "denied", reason: "nobody can be asked: the client does not support questions (--approval-fallback deny)" };
const NEEDS_PERSON = { kind: "denied", reason: "this needs a person's approval, and the client does not support questions" };
const LEAVES = {
  kind: "denied",
  reason: "this would leave the sandbox, and the client does not support questions; find a way inside it",
};

const NOWHERE_TO_STAY = { kind: "denied", reason: `the client does not support questions, and ${NO_SANDBOX}` };

it.for(
  (["command", "patch"] as const).flatMap((kind) => [
    ["auto-within-policy", kind, { staysInSandbox: true, needsPerson: false }, APPROVED] as const,
    ["auto-within-policy", kind, { staysInSandbox: true, needsPerson: true }, NEEDS_PERSON] as const,
    ["auto-within-policy", kind, { staysInSandbox: false, needsPerson: false }, LEAVES] as const,
    ["auto-within-policy", kind, { staysInSandbox: false, needsPerson: true }, NEEDS_PERSON] as const,
    ["auto-within-policy", kind, { staysInSandbox: false, needsPerson: false, lacksSandbox: true }, NOWHERE_TO_STAY] as const,
    ["auto-within-policy", kind, { staysInSandbox: false, needsPerson: true, lacksSandbox: true }, NEEDS_PERSON] as const,
    ["deny", kind, { staysInSandbox: true, needsPerson: false }, CANNOT_ASK] as const,
    ["deny", kind, { staysInSandbox: false, needsPerson: true }, CANNOT_ASK] as const,
    ["hold", kind, { staysInSandbox: true, needsPerson: false }, undefined] as const,
    ["hold", kind, { staysInSandbox: false, needsPerson: true }, undefined] as const,
  ]),
)("%s for a %s with %j", ([fallback, kind, reach, decision]) => {
  const subject: ApprovalSubject = { ...KINDS[kind], ...reach };
  expect(decideWithoutClient(subject, fallback)).toEqual(decision);
});
