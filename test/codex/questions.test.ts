import { existsSync, readFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import type { ApprovalDecision, ApprovalSubject } from "../../src/approvals/model.js";
import { createCodexEngine } from "../../src/engines/codex/engine.js";
import { newThreadId } from "../../src/lib/ids.js";
import type { ThreadEvent } from "../../src/threads/events.js";
import type { ThreadSettings } from "../../src/threads/settings.js";
import { type CodexCase, publishedCases } from "../support/codex/codexPeers.js";
import { type CodexStage, setCodexStage } from "../support/codex/codexStage.js";
import { turnContext } from "../support/threads/turns.js";

const CASES = await publishedCases();
const MCP_SERVER = fileURLToPath(new URL("../programs/mcpServerOfficial.mjs", import.meta.url));

interface Asked {
  readonly stage: CodexStage;
  readonly subjects: readonly ApprovalSubject[];
  readonly events: readonly ThreadEvent[];
}

interface Play {
  readonly prompt: string;
  readonly decision: ApprovalDecision;
  readonly settings?: Partial<ThreadSettings>;
}

/** Plays one turn of the real Codex and answers every question with the same decision. */
async function playWith(
  { program, model }: CodexCase,
  { prompt, decision, settings = {} }: Play,
  check: (asked: Asked) => void,
): Promise<void> {
  await using stage = await setCodexStage({ model });
  const { env, workspace } = stage;
  const engine = createCodexEngine({ codexBin: program, env, cwd: workspace, report: () => {} });
  try {
    const thread = await engine.openThread({ id: newThreadId(), settings: { ...stage.settings, ...settings } });
    const subjects: ApprovalSubject[] = [];
    const events: ThreadEvent[] = [];
    const ask = async (subject: ApprovalSubject) => {
      subjects.push(subject);
      return decision;
    };
    for await (const batch of thread.run({ text: prompt }, { ...turnContext(), ask })) events.push(...batch);
    await thread.close?.();
    check({ stage, subjects, events });
  } finally {
    await engine.close?.();
  }
}

function ofType<Type extends ThreadEvent["type"]>(events: readonly ThreadEvent[], type: Type): Extract<ThreadEvent, { type: Type }>[] {
  return events.filter((event): event is Extract<ThreadEvent, { type: Type }> => event.type === type);
}

function toolCall(name: string, args: unknown): string {
  return `!item ${JSON.stringify({ type: "function_call", namespace: "mcp__of", name, call_id: "k1", arguments: JSON.stringify(args) })}`;
}

const WITH_MCP: Partial<ThreadSettings> = { stated: { mcp_servers: { of: { command: process.execPath, args: [MCP_SERVER] } } } };
const UNTRUSTED: Partial<ThreadSettings> = {
  approvalPolicy: "untrusted",
  sandboxPolicy: { type: "workspace-write", network_access: false, exclude_tmpdir_env_var: false, exclude_slash_tmp: false },
};

describe.each(CASES)("Codex $version with $family asks", { timeout: 90_000 }, (codex) => {
  const play = (asked: Play, check: (asked: Asked) => void) => playWith(codex, asked, check);

  it.each([
    ["approved", 0],
    ["denied", -1],
  ] as const)("about a command, and continues when it is %s", (kind, exitCode) =>
    play({ prompt: "!shell touch made.txt\n!say done", decision: { kind }, settings: UNTRUSTED }, ({ stage, subjects, events }) => {
      expect(subjects).toEqual([
        {
          kind: "command",
          callId: expect.any(String),
          staysInSandbox: false,
          needsPerson: false,
          command: ["/bin/bash", "-lc", "touch made.txt"],
          commandText: "/bin/bash -lc 'touch made.txt'",
          cwd: stage.workspace,
          parsed: [{ type: "unknown", cmd: "touch made.txt" }],
          proposedPrefix: ["touch", "made.txt"],
        },
      ]);
      expect(ofType(events, "commandEnded").map((end) => end.exitCode)).toEqual([exitCode]);
      expect(existsSync(path.join(stage.workspace, "made.txt"))).toBe(kind === "approved");
      expect(events.at(-1)).toEqual({ type: "turnCompleted", lastMessage: "done" });
    }),
  );

  it("about a command, and its model learns why it was denied, with the denial", () =>
    play(
      {
        prompt: "!shell touch made.txt\n!say done",
        decision: { kind: "denied", reason: "use another name", by: "elicitation" },
        settings: UNTRUSTED,
      },
      ({ stage, events }) => {
        const remark = "The user did not allow `/bin/bash -lc 'touch made.txt'`, and says: use another name";
        const said = ofType(events, "rawItem").map(({ item }) => JSON.stringify(item));
        const [denied, told] = [
          // A script of code mode stops at the message, before it receives the denial.
          said.findIndex((item) => /rejected by user|Script running/.test(item)),
          said.findIndex((item) => item.includes(remark)),
        ];
        expect([denied > 0, told > denied]).toEqual([true, true]);
        expect(existsSync(path.join(stage.workspace, "made.txt"))).toBe(false);
        expect(events.at(-1)).toEqual({ type: "turnCompleted", lastMessage: "done" });
      },
    ));

  it("about a prefix, and writes nothing into the user's rules", () =>
    play(
      { prompt: "!shell touch made.txt\n!say done", decision: { kind: "approvedPrefix", prefix: ["touch"] }, settings: UNTRUSTED },
      ({ stage, events }) => {
        expect(ofType(events, "commandEnded").map((end) => end.exitCode)).toEqual([0]);
        expect(existsSync(path.join(stage.codexHome, "rules"))).toBe(false);
      },
    ));

  it("about a change of files, with the change", () =>
    play(
      { prompt: "!patch new.txt hello\n!say done", decision: { kind: "approved" }, settings: UNTRUSTED },
      ({ stage, subjects, events }) => {
        const file = path.join(stage.workspace, "new.txt");
        const changes = { [file]: { type: "add", content: "hello\n" } };
        expect(subjects).toEqual([{ kind: "patch", callId: expect.any(String), staysInSandbox: false, needsPerson: false, changes }]);
        expect(ofType(events, "patchStarted")).toEqual([
          { type: "patchStarted", callId: subjects[0]?.callId, autoApproved: false, changes },
        ]);
        expect(ofType(events, "patchEnded").map(({ stdout }) => stdout)).toEqual(["Success. Updated the following files:\nA new.txt\n"]);
        expect(readFileSync(file, "utf8")).toBe("hello\n");
      },
    ));

  it("about a command; the answer abort ends the turn", () =>
    play({ prompt: "!shell touch made.txt\n!say done", decision: { kind: "abort" }, settings: UNTRUSTED }, ({ stage, events }) => {
      expect(events.at(-1)).toEqual({ type: "turnAborted", reason: "interrupted" });
      expect(existsSync(path.join(stage.workspace, "made.txt"))).toBe(false);
    }));

  it("about a call of an MCP tool, with its arguments", () =>
    play(
      { prompt: `${toolCall("greet", { name: "x" })}\n!say done`, decision: { kind: "approved" }, settings: WITH_MCP },
      ({ subjects, events }) => {
        expect(subjects.map((subject) => subject.kind === "form" && [subject.server, subject.message])).toEqual([
          ["of", 'Allow the of MCP server to run tool "greet"? Arguments: {"name":"x"}'],
        ]);
        expect(ofType(events, "mcpToolEnded")).toEqual([
          {
            type: "mcpToolEnded",
            callId: "k1",
            invocation: { server: "of", tool: "greet", arguments: { name: "x" } },
            durationMs: expect.any(Number),
            result: { Ok: { content: [{ type: "text", text: "hello x" }] } },
          },
        ]);
      },
    ));

  it("a form of an MCP server", () =>
    play(
      { prompt: `${toolCall("ask", {})}\n!say done`, decision: { kind: "answered", content: { colour: "red" } }, settings: WITH_MCP },
      ({ subjects, events }) => {
        expect(subjects.at(-1)).toEqual({
          kind: "form",
          callId: "",
          staysInSandbox: false,
          needsPerson: true,
          server: "of",
          message: "Which colour?",
          requestedSchema: { type: "object", properties: { colour: { type: "string" } } },
        });
        expect(ofType(events, "mcpToolEnded").map(({ result }) => result)).toEqual([
          { Ok: { content: [], structuredContent: { action: "accept", content: { colour: "red" } } } },
        ]);
      },
    ));
});
