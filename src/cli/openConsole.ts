import { spawn } from "node:child_process";
import { systemProgram } from "../exec/outside/systemPrograms.js";
import { isFields } from "../lib/fields.js";
import type { ListenOptions } from "../server/httpContext.js";

/** A server on this machine answers at once, or not at all. */
const PATIENCE_MS = 2_000;

/**
 * The console of a server that listens already, with a one-time code for this user. No token is shown to whoever listens there: it may be somebody
 * else's program. Undefined where no server of ours answers.
 */
export async function findConsole({ host, ports, tls }: Pick<ListenOptions, "host" | "ports" | "tls">): Promise<string | undefined> {
  const [port = 0] = ports;
  if (port === 0) return undefined;
  const origin = `${tls ? "https" : "http"}://${host.includes(":") ? `[${host}]` : host}:${port}`;
  const health = await answerOf(`${origin}/api/v1/health`, "GET");
  const page = isFields(health?.body) ? webAddress(health.body["console"]) : undefined;
  if (page === undefined) return undefined;
  const code = await answerOf(`${origin}/api/v1/login/codes`, "POST");
  // Where a token is asked for, the console asks for it.
  return (code?.status === 201 && isFields(code.body) ? webAddress(code.body["address"]) : undefined) ?? page;
}

/** Whoever answered has said it: a browser is sent to pages only, not to files or programs. */
function webAddress(value: unknown): string | undefined {
  return typeof value === "string" && URL.canParse(value) && /^https?:$/.test(new URL(value).protocol) ? value : undefined;
}

async function answerOf(url: string, method: "GET" | "POST"): Promise<{ readonly status: number; readonly body: unknown } | undefined> {
  try {
    const answer = await fetch(url, { method, signal: AbortSignal.timeout(PATIENCE_MS), redirect: "error" });
    return { status: answer.status, body: await answer.json() };
  } catch {
    return undefined;
  }
}

/** The programs that open an address in the user's browser, by platform. */
const OPENERS: Readonly<Partial<Record<NodeJS.Platform, string>>> = { darwin: "open", linux: "xdg-open" };

/** Opens an address in the user's browser where there is a program for it. The address was printed: a browser that does not come is no failure. */
export function openBrowser(address: string, { platform = process.platform }: { readonly platform?: NodeJS.Platform } = {}): boolean {
  const name = OPENERS[platform];
  const program = name === undefined ? undefined : systemProgram(name);
  if (program === undefined) return false;
  spawn(program, [address], { stdio: "ignore", detached: true })
    .on("error", () => {})
    .unref();
  return true;
}
