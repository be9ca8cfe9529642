import { findCodexHome } from "../config/codexHome.js";
import { parseOverride } from "../config/overrides.js";
import { createSettingsResolver } from "../config/resolve.js";
import { MCP_DISPATCH } from "../mcp/dispatch.js";
import { Session } from "../mcp/session.js";
import { CATALOG } from "../mcp/tools/catalog.js";
import { openStdio } from "../transports/stdio.js";
import type { OpenAgent } from "./agent.js";
import type { ServerOptions } from "./command.js";
import { endsWithin, untilSignalled } from "./shutdown.js";

/** What turns get to end in after they were interrupted, and files to be flushed in. */
const INTERRUPT_MS = 2_500;
const CLEAN_UP_MS = 400;

export interface ServerContext {
  readonly options: ServerOptions;
  readonly env: NodeJS.ProcessEnv;
  readonly serverCwd: string;
  readonly report: (line: string) => void;
  readonly exitAtOnce: (code: number) => void;
}

/** The server on stdin and stdout, from first line to last. Resolves when the process may end. */
export async function serveStdio(context: ServerContext): Promise<void> {
  const { options, report, env } = context;
  const { codexHome, settings } = resolveSettings(context);
  for (const warning of settings.checkAtStart()) report(warning);
  if (options.engine === "scripted") report("the model is scripted: answers come from the `!` lines of the prompt, not from a real model");

  const agent = lazily(async () => {
    const { openAgent } = await import("./agent.js");
    return openAgent({ ...options, codexHome, env, serverCwd: context.serverCwd, settings, report });
  });
  const wire = openStdio();
  const session = new Session(wire, {
    dispatch: MCP_DISPATCH,
    engine: options.engine,
    env,
    tools: CATALOG,
    actions: async () => (await agent.get()).actions,
    welcomed: () => agent.warmUp(),
    report,
  });

  const signalled = untilSignalled(context.exitAtOnce);
  await Promise.race([session.run(), signalled]);
  const finished = await endsWithin(options.eofGraceMs, session.peer.idle(), { unless: signalled });
  await endSession(session, agent, { interrupt: !finished });
  await wire.close();
}

/** In the order in which it must happen: answers first, then files, then the end of the conversation. */
async function endSession(session: Session, agent: Lazy<OpenAgent>, { interrupt }: { readonly interrupt: boolean }): Promise<void> {
  // A call may not have come as far as a turn yet, and a turn may have no call.
  if (interrupt) session.interrupt(new Error("the server is shutting down"));
  const open = await agent.ifLoaded();
  if (interrupt) open?.interruptAll();
  await endsWithin(INTERRUPT_MS, Promise.all([session.peer.idle(), open?.settle()]));
  session.close(new Error("the server is shutting down"));
  // What turns left running goes with us, whatever it does: its namespace ends with this process.
  if (open) await endsWithin(CLEAN_UP_MS, open.close());
}

export function resolveSettings({ options, env, serverCwd }: Pick<ServerContext, "options" | "env" | "serverCwd">) {
  const codexHome = findCodexHome(env);
  const { model, profile, cwd, sandbox, approvalPolicy, strictConfig } = options;
  const settings = createSettingsResolver({
    codexHome,
    cliOverrides: options.overrides.map(parseOverride),
    cliNamed: { model, profile, cwd, sandbox, approvalPolicy },
    strict: strictConfig,
    env,
    serverCwd,
  });
  return { codexHome, settings };
}

interface Lazy<T> {
  get(): Promise<T>;
  /** Begins to load once what is being written now has left. */
  warmUp(): void;
  ifLoaded(): Promise<T | undefined>;
}

function lazily<T>(load: () => Promise<T>): Lazy<T> {
  let loaded: Promise<T> | undefined;
  const get = () => {
    loaded ??= load().catch((error: unknown) => {
      // What failed now may work for the next call: a config.toml that was broken for a moment, say.
      loaded = undefined;
      throw error;
    });
    return loaded;
  };
  return {
    get,
    warmUp() {
      // A failure to load is told to the call that needs it.
      setTimeout(() => void get().catch(() => undefined), 1);
    },
    ifLoaded: async () => loaded?.catch(() => undefined),
  };
}
