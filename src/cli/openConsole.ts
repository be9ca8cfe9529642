import { spawn } from "node:child_process";
import { systemProgram } from "../exec/outside/outsidePrograms.js";
import { isFields } from "../lib/fields.js";
import { timeoutSignal } from "../lib/promises.js";
import type { ListenOptions } from "../server/httpContext.js";

/** Timeout for a server on this machine. */
const PATIENCE_MS = 2_000;

/**
 * The console of a running server, with a one-time code for this user. Sends no token, because another program may listen on the port.
 * Undefined if no server of ours responds.
 */
export async function findConsole({ host, ports, tls }: Pick<ListenOptions, "host" | "ports" | "tls">): Promise<string | undefined> {
  const [port = 0] = ports;
  if (port === 0) return undefined;
  const origin = `${tls ? "https" : "http"}://${host.includes(":") ? `[${host}]` : host}:${port}`;
  const health = await answerOf(`${origin}/api/v1/health`, "GET");
  const page = isFields(health?.body) ? webAddress(health.body["console"]) : undefined;
  if (page === undefined) return undefined;
  const code = await answerOf(`${origin}/api/v1/login/codes`, "POST");
  // If a token is required, the console asks for it.
  return (code?.status === 201 && isFields(code.body) ? webAddress(code.body["address"]) : undefined) ?? page;
}

/**
 * The other side chose this value, so only web pages are opened, not files or programs. As a parsed URL it has no characters that a terminal
 * interprets.
 */
function webAddress(value: unknown): string | undefined {
  if (typeof value !== "string" || !URL.canParse(value)) return undefined;
  const { protocol, href } = new URL(value);
  return /^https?:$/.test(protocol) ? href : undefined;
}

async function answerOf(url: string, method: "GET" | "POST"): Promise<{ readonly status: number; readonly body: unknown } | undefined> {
  try {
    const answer = await fetch(url, { method, signal: timeoutSignal(PATIENCE_MS), redirect: "error" });
    return { status: answer.status, body: await answer.json() };
  } catch {
    return undefined;
  }
}

/** The programs that open a URL in the user's browser, by platform. */
const OPENERS: Readonly<Partial<Record<NodeJS.Platform, string>>> = { darwin: "open", linux: "xdg-open" };

/** Opens a URL in the user's browser, if the platform has a program for it. The URL was printed before, so a failure is ignored. */
export function openBrowser(address: string, { platform = process.platform }: { readonly platform?: NodeJS.Platform } = {}): boolean {
  const name = OPENERS[platform];
  const program = name === undefined ? undefined : systemProgram(name);
  if (program === undefined) return false;
  spawn(program, [address], { stdio: "ignore", detached: true })
    .on("error", () => {})
    .unref();
  return true;
}
