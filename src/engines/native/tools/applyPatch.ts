import { existsSync } from "node:fs";
import path from "node:path";
import * as z from "zod/mini";
import { denialText } from "../../../approvals/denials.js";
import type { FileChanges } from "../../../exec/actions.js";
import { shellAnswer } from "../../../exec/output.js";
import { applyPlan } from "../../../exec/patch/apply.js";
import { fileChangesOf } from "../../../exec/patch/changes.js";
import { EmptyPatch, PatchFailed, PatchInvalid } from "../../../exec/patch/errors.js";
import { parsePatch } from "../../../exec/patch/parse.js";
import { type TouchedPath, touchedPaths } from "../../../exec/patch/places.js";
import { type PatchPlan, planPatch } from "../../../exec/patch/plan.js";
import type { PatchCall } from "../../../exec/safety/bash/reader.js";
import { RETRY_REASON } from "../../../exec/safety/judge/assess.js";
import { isInside, resolvedAsFarAsPossible } from "../../../platform/paths.js";
import type { ThreadEvent } from "../../../threads/events.js";
import type { RawItem } from "../../../threads/items.js";
import { message } from "../model/items.js";
import { readArguments, type Tool, type ToolContext, type ToolRun } from "./tool.js";
import type { ToolRuntime } from "./toolRuntime.js";

const PatchArguments = z.object({ input: z.string() });

const REJECTED = "patch rejected by user";
const REVIEWING = "patch rejected: a review changes no files; report what should change instead";
const OUTSIDE = "patch rejected: writing outside of the project; rejected by user approval settings";

/** `apply_patch`, as freeform text or as a function: some models call it in the form that was not offered. */
export function patchTool(runtime: ToolRuntime): Tool {
  return {
    name: "apply_patch",
    async *run(args, ctx): ToolRun {
      if (ctx.isFreeform) return yield* applyPatch(args, { cwd: runtime.settings.cwd }, { runtime, ctx });
      const read = readArguments(args, PatchArguments, ctx, { name: "ApplyPatchToolArgs", fields: ["input"] });
      if ("complaint" in read) return { output: read.complaint };
      return yield* applyPatch(read.value.input, { cwd: runtime.settings.cwd }, { runtime, ctx });
    },
  };
}

/** A patch that came as a shell command: `apply_patch <<'EOF' …`. */
export async function* patchThroughShell(
  call: PatchCall,
  { cwd, tool }: { readonly cwd: string; readonly tool: string },
  running: RunningCall,
): ToolRun {
  if (call.kind === "bare")
    return {
      output: 'apply_patch verification failed: patch detected without explicit call to apply_patch. Rerun as ["apply_patch", "<patch>"]',
    };
  const warning = message("user", `Warning: apply_patch was requested via ${tool}. Use the apply_patch tool instead of exec_command.`);
  return yield* applyPatch(call.patch, { cwd: path.resolve(cwd, call.workdir ?? ""), warning }, running);
}

/** A running call with its thread's parts. */
interface RunningCall {
  readonly runtime: ToolRuntime;
  readonly ctx: ToolContext;
}

interface Where {
  readonly cwd: string;
  /** Added for the model once the patch is known to match the files. */
  readonly warning?: RawItem;
}

async function* applyPatch(text: string, { cwd, warning }: Where, running: RunningCall): ToolRun {
  const { runtime, ctx } = running;
  if (!runtime.takesPatches) return { output: REVIEWING };
  await runtime.files.lookAround();
  let plan: PatchPlan;
  try {
    plan = await planPatch(parsePatch(text), { cwd, mayRead: runtime.files.mayRead, shownAsWritten: ctx.asRecorded });
  } catch (error) {
    if (error instanceof EmptyPatch) {
      if (warning && ctx.asRecorded) yield [ctx.remember(warning)];
      return { output: "patch rejected: empty patch" };
    }
    if (error instanceof PatchInvalid) return { output: `apply_patch verification failed: ${error.message}` };
    throw error;
  }
  if (warning) yield [ctx.remember(warning)];
  return yield* applyPlanned(plan, running);
}

async function* applyPlanned(plan: PatchPlan, running: RunningCall): ToolRun {
  const { runtime, ctx } = running;
  const { callId } = ctx;
  const changes = fileChangesOf(plan);
  const places = await touchedPaths(plan);
  const paths = [...new Set(places.map(({ real }) => real))];
  const asked = { changes, paths, outside: outsideOf(places, changes, runtime) };
  const verdict = assess(paths, runtime);
  if (verdict === "reject") return { output: OUTSIDE };
  if (ctx.asRecorded) runtime.noteInTurnDiff(plan);
  yield [{ type: "patchStarted", callId, autoApproved: verdict === "run" && !needsApproval(paths, runtime), changes }];
  const failed = async (stderr: string, declined?: true): Promise<ThreadEvent[]> => [
    { type: "patchEnded", callId, stdout: "", stderr, success: false, changes, ...(declined && { declined }) },
    ...shownDiff(await runtime.turnDiff()),
  ];
  if (verdict === "ask") {
    const refusal = await question(asked, running).catch((error: unknown) => {
      if (ctx.signal.aborted) return { output: REJECTED };
      throw error;
    });
    if (refusal) {
      yield await failed(refusal.output, true);
      return refusal;
    }
  }
  const inside = ctx.asRecorded ? failureInside(plan, places, runtime) : undefined;
  if (inside?.reason === "denied") yield [complaint(callId, inside)];
  const denied = inside?.reason === "failed" ? inside : yield* write(plan, verdict === "ask" ? paths : [], running);
  if (denied === undefined) return { output: shellAnswer(success(plan), runtime.truncation) };
  if (ctx.asRecorded && denied.attempt !== undefined) {
    const said = `${denied.attempt}\n`;
    yield [complaint(callId, denied), ...(await failed(said))];
    return { output: shellAnswer({ aggregatedOutput: said, exitCode: 1, durationMs: 0, ended: "exited" }, runtime.truncation) };
  }
  if (denied.reason !== "denied" || runtime.settings.approvalPolicy === "never" || verdict === "ask") {
    yield await failed(denied.message);
    return { output: denied.message };
  }
  const refusal = await question({ ...asked, reason: RETRY_REASON }, running);
  const again = refusal ? undefined : yield* write(plan, paths, running);
  if (!refusal && !again) return { output: shellAnswer(success(plan), runtime.truncation) };
  const output = refusal?.output ?? again?.message ?? "";
  yield await failed(output, refusal && true);
  return refusal ?? { output };
}

/** Whether the patch may be applied directly, needs approval, or is rejected. */
function assess(paths: readonly string[], runtime: ToolRuntime): "run" | "ask" | "reject" {
  if (!needsApproval(paths, runtime)) return "run";
  if (runtime.settings.approvalPolicy === "never") return "reject";
  return paths.every((file) => runtime.approved.has(file)) ? "run" : "ask";
}

/** Whether the policy requires an approval, whatever was approved before. */
function needsApproval(paths: readonly string[], runtime: ToolRuntime): boolean {
  const { approvalPolicy } = runtime.settings;
  if (approvalPolicy === "untrusted") return true;
  return approvalPolicy !== "on-failure" && !paths.every(runtime.files.mayWrite);
}

/**
 * Codex 0.92.0 tried every patch inside the sandbox first, approved or not. It repeated outside only what failed in the sandbox's words
 * (`denied`): an approved patch that had to delete a file or to make a folder there failed.
 */
function failureInside({ files }: PatchPlan, places: readonly TouchedPath[], runtime: ToolRuntime): PatchFailed | undefined {
  // Its sandbox opened the workspace whole, with the folders that we protect in it.
  const opened = runtime.settings.sandboxPolicy.type === "read-only" ? undefined : resolvedAsFarAsPossible(runtime.settings.cwd);
  const isOpen = (real: string) => runtime.files.mayWrite(real) || (opened !== undefined && isInside(real, opened));
  const closed = new Set(places.filter(({ real }) => !isOpen(real)).map(({ path: file }) => file));
  const moved = new Set(files.map(({ movedFrom }) => movedFrom));
  const stopped = files.find((file) => closed.has(file.path) && !moved.has(file.path));
  if (!stopped) return undefined;
  const { shownAs } = stopped;
  const final = (attempt: string) => new PatchFailed(attempt, { reason: "failed", attempt });
  if (stopped.after === undefined) return final(`Failed to delete file ${shownAs}`);
  if (!existsSync(path.dirname(stopped.path))) return final(`Failed to create parent directories for ${shownAs}`);
  const attempt = `Failed to write file ${shownAs}`;
  return new PatchFailed(attempt, { reason: "denied", attempt });
}

function complaint(callId: string, { attempt }: Pick<PatchFailed, "attempt">): ThreadEvent {
  return { type: "commandOutput", callId, stream: "stderr", bytes: Buffer.from(`${attempt}\n`) };
}

interface Asked {
  readonly changes: FileChanges;
  /** The real paths of the changes. */
  readonly paths: readonly string[];
  readonly outside: Readonly<Record<string, string>>;
  readonly reason?: string;
}

/** Shown name → real path, for files outside the workspace. */
function outsideOf(places: readonly TouchedPath[], changes: FileChanges, runtime: ToolRuntime): Record<string, string> {
  const workspace = resolvedAsFarAsPossible(runtime.settings.cwd);
  const outside = new Map(places.filter(({ real }) => !isInside(real, workspace)).map(({ path: file, real }) => [file, real]));
  for (const shown of Object.keys(changes)) {
    const real = outside.get(path.resolve(shown));
    if (real !== undefined) outside.set(shown, real);
  }
  return Object.fromEntries(outside);
}

/** Undefined when approved. */
async function question(
  { changes, paths, outside, reason }: Asked,
  { runtime, ctx }: RunningCall,
): Promise<{ readonly output: string; readonly endsTurn?: true } | undefined> {
  const decision = await ctx.ask({
    kind: "patch",
    callId: ctx.callId,
    changes,
    staysInSandbox: paths.every(runtime.files.mayWrite),
    staysInWorkspace: paths.every(runtime.files.isInWorkspace),
    ...(Object.keys(outside).length > 0 && { outside }),
    needsPerson: false,
    ...(reason === undefined ? {} : { reason }),
  });
  switch (decision.kind) {
    case "approved":
    case "approvedPrefix":
      return undefined;
    case "approvedForSession":
      // Codex 0.92.0 asked again after each failure.
      if (!ctx.asRecorded || reason === undefined) for (const file of paths) runtime.approved.add(file);
      return undefined;
    case "denied":
      return { output: denialText("patch", decision) };
    case "abort":
      return { output: REJECTED, endsTurn: true };
    case "answered":
      return { output: `${REJECTED}: the answer does not say whether it may be applied` };
  }
}

/**
 * Undefined when everything was written; the change is shown then. Outside the sandbox, only approved paths are written, wherever links
 * lead by now.
 */
async function* write(
  plan: PatchPlan,
  approvedNow: readonly string[],
  { runtime, ctx }: RunningCall,
): AsyncGenerator<readonly ThreadEvent[], PatchFailed | undefined> {
  ctx.signal.throwIfAborted();
  const { mayRead } = runtime.files;
  const isApproved = (file: string) => runtime.approved.has(file) || approvedNow.includes(file);
  // A path that has become hidden stays so: the question was about another place.
  const mayWrite = (file: string) => mayRead(file) && (runtime.files.mayWrite(file) || isApproved(file));
  try {
    await applyPlan(plan, { mayWrite, mayRead });
  } catch (error) {
    if (error instanceof PatchFailed) return error;
    throw error;
  }
  const { callId } = ctx;
  const diff = await runtime.addToTurnDiff(plan);
  yield [
    { type: "commandOutput", callId, stream: "stdout", bytes: Buffer.from(plan.summary) },
    { type: "patchEnded", callId, stdout: plan.summary, stderr: "", success: true, changes: fileChangesOf(plan) },
    ...shownDiff(diff),
  ];
  return undefined;
}

function shownDiff(unifiedDiff: string | undefined): ThreadEvent[] {
  return unifiedDiff === undefined ? [] : [{ type: "turnDiff", unifiedDiff }];
}

function success(plan: PatchPlan) {
  return { aggregatedOutput: plan.summary, exitCode: 0, durationMs: 0, ended: "exited" as const };
}
