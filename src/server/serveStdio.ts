import { endsWithin, type Lazy, lazily, valueWithin } from "../lib/promises.js";
import { openStdio } from "../mcp/over/stdio.js";
import { Session } from "../mcp/sessions/session.js";
import type { StatelessServer } from "../mcp/stateless/server.js";
import { toolsOf } from "../mcp/tools/sets.js";
import { Tools } from "../mcp/tools/tools.js";
import { codexMethods } from "./codexMethods.js";
import { offeredModels, resolveSettings, type ServerContext } from "./context.js";
import type { OpenAgent } from "./openAgent.js";
import { ownNesting } from "./ownNesting.js";
import { Reporting } from "./reporting.js";
import { untilSignalled } from "./shutdown.js";

/** How long interrupted turns may take to end, and files to be flushed. */
const INTERRUPT_MS = 2_500;
const CLEAN_UP_MS = 400;

/** Runs the server on stdin and stdout until it shuts down. Resolves when the process may exit. */
export async function serveStdio(start: ServerContext): Promise<void> {
  const context = await withUsableEngine(start);
  const { options, env } = context;
  const { codexHome, settings } = resolveSettings(context);
  const reporting = new Reporting({ env, codexHome, listening: false });
  const report = (line: string) => reporting.report(line);
  for (const warning of settings.checkAtStart()) report(warning);
  if (options.engineNotice !== undefined) report(options.engineNotice);
  if (options.engine === "scripted") report("the model is scripted: answers come from the `!` lines of the prompt, not from a real model");

  const offered = offeredModels(options, { codexHome, settings, report });
  const { caller, ...nesting } = ownNesting({ env, settings, listening: false, report });
  const agent = lazily(async () => {
    const { openAgent } = await import("./openAgent.js");
    const telemetry = await reporting.telemetry();
    return openAgent({ ...options, codexHome, env, serverCwd: context.serverCwd, settings, report, telemetry, offered, ...nesting });
  });
  const help = lazily(async () => (await import("./codexHelp.js")).readCodexHelp(context));
  const tools = new Tools({
    tools: toolsOf(options.tools, env),
    env,
    codexHelp: help.get,
    objection: nesting.objection,
    emptyForms: settings.serverSettings().emptyApprovalForms,
    events: settings.serverSettings().events,
    resultTokens: settings.serverSettings().resultTokens,
    modelNames: () => offered.names,
    open: () => agent.get(),
  });
  const stateless = lazily(async () => {
    offered.load();
    const { openStateless } = await import("./statelessServer.js");
    return openStateless({ codexHome, engine: options.engine, tools, report, taskAfterMs: settings.serverSettings().taskAfterMs });
  });
  const wire = openStdio();
  const session = new Session(wire, {
    caller,
    tools,
    stateless: () => stateless.get(),
    furtherMethods: codexMethods(() => agent.get(), env),
    engine: options.engine,
    env,
    welcomed: () => {
      // Runs after the response was written, and before the client can request the list of tools.
      setImmediate(() => offered.load());
      agent.warmUp();
    },
    report,
  });

  const signalled = untilSignalled(context.exitAtOnce);
  await Promise.race([session.run(wire.incoming), signalled]);
  const parts = { session, agent, stateless };
  const allEnded = Promise.race([nothingRuns(parts).then(() => true), signalled.then(() => false)]);
  const finished = await valueWithin(options.eofGraceMs, allEnded, false);
  await endSession(parts, { interrupt: !finished });
  await wire.close();
  await reporting.close();
}

/** The check is in a separate module, which only an automatically chosen Codex needs. */
async function withUsableEngine(start: ServerContext): Promise<ServerContext> {
  if (start.options.engine !== "codex" || !start.options.engineIsAuto) return start;
  const { nativeUnlessUsable } = await import("./usableCodex.js");
  return nativeUnlessUsable(start);
}

interface Running {
  readonly session: Session;
  readonly agent: Lazy<OpenAgent>;
  readonly stateless: Lazy<StatelessServer>;
}

/** A call that became a task, or waits for its client to come back, has had its response, but its turn still runs. */
async function nothingRuns({ session, agent, stateless }: Running): Promise<void> {
  (await stateless.ifLoaded())?.leave();
  await session.peer.idle();
  await (await agent.ifLoaded())?.settle();
}

/** The order matters: first responses, then files, then the end of the connection. */
async function endSession({ session, agent, stateless }: Running, { interrupt }: { readonly interrupt: boolean }): Promise<void> {
  // A call may not have started its turn yet, and a turn may have no call.
  const reason = new Error("the server is shutting down");
  if (interrupt) session.interrupt(reason);
  const [open, statelessServer] = await Promise.all([agent.ifLoaded(), stateless.ifLoaded()]);
  if (interrupt) open?.interruptAll(reason.message);
  await endsWithin(INTERRUPT_MS, Promise.all([session.peer.idle(), open?.settle(), statelessServer?.settle()]));
  session.close(reason);
  // Whatever remains ends with this process, because its namespace does.
  if (open) await endsWithin(CLEAN_UP_MS, open.close());
}
