import { denialText } from "../../../approvals/denials.js";
import type { ApprovalSubject } from "../../../approvals/model.js";
import { openBashReader } from "../../../exec/safety/bash/reader.js";
import { shellQuote } from "../../../exec/safety/bash/words.js";
import { assessCommand, type CommandVerdict, forbiddenRefusal } from "../../../exec/safety/judge/assess.js";
import { parsedCommand } from "../../../exec/safety/judge/parsedCommand.js";
import type { ThreadEvent } from "../../../threads/events.js";
import type { CommandCall } from "../../../threads/items.js";
import type { ToolContext, ToolResult, ToolRun } from "./tool.js";
import type { ToolRuntime } from "./toolRuntime.js";

/** What the model wants to run. */
export interface CommandRequest {
  /** The tool that was called; one refusal's wording depends on it. */
  readonly tool: string;
  readonly argv: readonly string[];
  readonly cwd: string;
  readonly escalated: boolean;
  readonly justification?: string | undefined;
  /** The number of the session that it gets. */
  readonly sessionId?: number;
}

const REJECTED = "exec command rejected by user";

/** A command on its way to being run. */
export interface JudgedCommand {
  readonly call: CommandRequest;
  readonly command: CommandCall;
  readonly runtime: ToolRuntime;
  readonly ctx: ToolContext;
}

export interface Permission {
  readonly sandboxed: boolean;
  readonly proposedPrefix?: readonly string[];
}

/** Judges a command, announces it, and asks for approval where that is due. */
export async function* judge(
  call: CommandRequest,
  runtime: ToolRuntime,
  ctx: ToolContext,
): AsyncGenerator<
  readonly ThreadEvent[],
  { readonly refusal: ToolResult } | { readonly judged: JudgedCommand; readonly permission: Permission }
> {
  // The workspace is searched while the command is judged and recorded.
  runtime.files.beginLookingAround();
  const parser = await openBashReader(call.argv);
  const verdict = assessCommand({
    argv: call.argv,
    escalated: call.escalated,
    ...(call.justification === undefined ? {} : { justification: call.justification }),
    tool: call.tool,
    approvalPolicy: runtime.settings.approvalPolicy,
    sandboxPolicy: runtime.settings.sandboxPolicy,
    rules: runtime.rules.inForce(),
    sandboxEnforced: await runtime.isSandboxEnforced(),
    confined: runtime.confined,
    parser,
    trusts: await runtime.trustedPrograms(call.argv, call.cwd),
  });
  if (verdict.kind === "refuse" && verdict.unannounced) return { refusal: { output: verdict.text } };
  const { argv, cwd, sessionId } = call;
  const session = sessionId === undefined ? {} : { sessionId };
  const command: CommandCall = { callId: ctx.callId, ...session, command: argv, cwd, parsed: parsedCommand(argv, parser) };
  const judged: JudgedCommand = { call, command, runtime, ctx };
  const asks = verdict.kind === "ask" && !isApproved(judged, { staysInSandbox: verdict.sandboxedAfterwards });
  const onlyLooks = runtime.onlyLooks(call, parser);
  yield [
    { type: "commandStarted", ...command, ...(asks && { awaitsApproval: true as const }), ...(onlyLooks && { onlyLooks: true as const }) },
  ];
  if (verdict.kind === "refuse") return { refusal: yield* refuse({ refused: verdict.text, declined: true }, command) };
  const permission = await permit(verdict, judged);
  return "refused" in permission ? { refusal: yield* refuse(permission, command) } : { judged, permission };
}

/** The refusal of a command that the user's rules forbid, for commands that are not judged in any other way. */
export async function forbiddenByRules(argv: readonly string[], runtime: ToolRuntime): Promise<string | undefined> {
  return forbiddenRefusal({ argv, rules: runtime.rules.inForce(), parser: await openBashReader(argv) });
}

interface Refusal {
  readonly refused: string;
  /** Somebody, or a rule, said no; otherwise it could not be run. */
  readonly declined?: true;
  readonly endsTurn?: true;
}

async function permit(verdict: Exclude<CommandVerdict, { kind: "refuse" }>, judged: JudgedCommand): Promise<Permission | Refusal> {
  const prefix = verdict.proposedPrefix === undefined ? {} : { proposedPrefix: verdict.proposedPrefix };
  if (verdict.kind === "run") return { sandboxed: verdict.sandboxed, ...prefix };
  const sandboxed = verdict.sandboxedAfterwards;
  const refusal = await question(judged, {
    ...(verdict.reason === undefined ? {} : { reason: verdict.reason }),
    ...prefix,
    staysInSandbox: sandboxed,
    needsPerson: verdict.needsPerson,
  });
  return refusal ?? { sandboxed, ...prefix };
}

type Asked = Pick<ApprovalSubject, "reason" | "staysInSandbox" | "needsPerson"> & { readonly proposedPrefix?: readonly string[] };

/** Undefined when it was approved, now or for the rest of the thread. An approval inside the sandbox is none outside of it. */
export async function question(judged: JudgedCommand, asked: Asked): Promise<Refusal | undefined> {
  const { call, command, runtime, ctx } = judged;
  if (isApproved(judged, asked)) return undefined;
  const { callId, cwd, parsed } = command;
  const words = { command: command.command, commandText: shellQuote(command.command) };
  const decision = await ctx.ask({ kind: "command", callId, ...words, cwd, parsed, ...asked });
  switch (decision.kind) {
    case "approved":
      return undefined;
    case "approvedForSession":
      runtime.approved.add(approvalKey(call, asked));
      return undefined;
    case "approvedPrefix":
      runtime.rules.allow(decision.prefix);
      return undefined;
    case "denied":
      return { refused: denialText("exec command", decision) };
    case "abort":
      return { refused: REJECTED, endsTurn: true };
    case "answered":
      return { refused: `${REJECTED}: the answer does not say whether it may run` };
  }
}

/** Ends a command that was announced and did not run. */
export async function* refuse({ refused: text, declined, endsTurn }: Refusal, command: CommandCall): ToolRun {
  const told = { stdout: "", stderr: text, aggregatedOutput: text, formattedOutput: text, ...(declined && { declined }) };
  yield [{ type: "commandEnded", ...command, ...told, exitCode: -1, durationMs: 0 }];
  return endsTurn ? { output: text, endsTurn } : { output: text };
}

/** For the rest of the thread, by an earlier answer. */
function isApproved({ call, runtime }: JudgedCommand, asked: Pick<Asked, "staysInSandbox">): boolean {
  return runtime.approved.has(approvalKey(call, asked));
}

function approvalKey({ argv, cwd }: CommandRequest, { staysInSandbox }: Pick<Asked, "staysInSandbox">): string {
  return JSON.stringify([argv, cwd, staysInSandbox]);
}
