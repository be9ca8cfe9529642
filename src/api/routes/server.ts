import { z } from "@hono/zod-openapi";
import type { Agent, Ask } from "../../agent/agent.js";
import type { AccountState, KeyLimit } from "../../threads/engineServices.js";
import type { ThreadSummary } from "../../threads/store.js";
import type { RateLimitWindow } from "../../threads/usage.js";
import { type ApiParts, askOf } from "../base/apiParts.js";
import { ApiProblem } from "../base/problems.js";
import { AccountResource, ConfigResource, DoctorReport, Health, Me, ModelList, ProjectList } from "../schemas/server.js";
import { json, problems, routes, scoped } from "./route.js";

/** The most threads that are examined to find their folders. */
const MOST_THREADS = 2_000;
const PAGE = 200;

const HEALTH = scoped("none", {
  method: "get",
  path: "/health",
  operationId: "getHealth",
  summary: "The server's version and state",
  responses: { 200: json(Health, "The server."), ...problems() },
});
const ME = scoped("none", {
  method: "get",
  path: "/me",
  operationId: "getMe",
  summary: "The caller's identity and rights",
  responses: { 200: json(Me, "The caller."), ...problems() },
});
const MODELS = scoped("call", {
  method: "get",
  path: "/models",
  operationId: "listModels",
  summary: "The available models, the default first",
  responses: { 200: json(ModelList, "The models."), ...problems(422, 501, 504) },
});
const ACCOUNT = scoped("call", {
  method: "get",
  path: "/account",
  operationId: "getAccount",
  summary: "The model account; never contains a key",
  responses: { 200: json(AccountResource, "The account."), ...problems(422, 501, 504) },
});
const CONFIG = scoped("manage", {
  method: "get",
  path: "/config",
  operationId: "getConfig",
  summary: "The effective settings in a folder, secrets masked",
  request: { query: z.object({ cwd: z.string().min(1).max(4_096).optional() }) },
  responses: { 200: json(ConfigResource, "The settings, in the form of config.toml."), ...problems(422, 501, 504) },
});
const PROJECTS = scoped("read", {
  method: "get",
  path: "/projects",
  operationId: "listProjects",
  summary: "The working folders of the caller's threads",
  responses: { 200: json(ProjectList, "The folders, the most recently used first."), ...problems(504) },
});
const DOCTOR = scoped("manage", {
  method: "get",
  path: "/doctor",
  operationId: "getDoctor",
  summary: "Diagnostics: what is configured, what is missing and how to fix it",
  responses: { 200: json(DoctorReport, "The findings."), ...problems(501, 504) },
});

const METRICS = scoped("read", {
  method: "get",
  path: "/metrics",
  operationId: "getMetrics",
  summary: "The server's metrics, the same as `/metrics`, but also available with a browser's cookie",
  responses: { 200: { description: "Prometheus' text format.", content: { "text/plain": { schema: z.string() } } }, ...problems() },
});

export function serverRoutes(parts: ApiParts) {
  return routes()
    .openapi(HEALTH, async (c) => {
      const agent = await parts.agent();
      return c.json(
        {
          status: parts.ready() ? ("ok" as const) : ("shutting down" as const),
          version: parts.version,
          engine: agent.engineName,
          instance: parts.instance,
          startedAt: new Date(parts.startedAt).toISOString(),
          console: parts.consoleAddress() ?? null,
        },
        200,
      );
    })
    .openapi(ME, (c) => {
      const { principal, scopes, roots } = c.env.caller;
      const by = c.env.viaConsole ? "cookie" : c.env.incoming.headers.authorization === undefined ? "user" : "token";
      return c.json({ principal, scopes: [...scopes], by, roots: roots ? [...roots] : null } as const, 200);
    })
    .openapi(MODELS, async (c) => {
      const found = await (await parts.agent()).server.models(askOf(c.env));
      const models = found.map(({ model, displayName, isDefault, reasoningEfforts, notOffered, shutdownDate }) => ({
        model,
        displayName,
        isDefault,
        efforts: [...reasoningEfforts],
        offered: notOffered !== true,
        shutdownDate: shutdownDate ?? null,
      }));
      return c.json({ models }, 200);
    })
    .openapi(ACCOUNT, async (c) => c.json(accountView(await (await parts.agent()).server.accountState(askOf(c.env))), 200))
    .openapi(CONFIG, async (c) => {
      const { cwd } = c.req.valid("query");
      const config = await (await parts.agent()).server.config(askOf(c.env), cwd);
      return c.json({ cwd: cwd ?? null, config: { ...config } }, 200);
    })
    .openapi(PROJECTS, async (c) => {
      const [agent, ask] = [await parts.agent(), askOf(c.env)];
      return c.json(await projectsOf(agent, ask), 200);
    })
    .openapi(METRICS, async (c) => {
      // Throws for a caller inside a turn.
      await (await parts.agent()).activities(askOf(c.env), []);
      const { contentType, text } = await parts.metrics();
      return c.text(text, 200, { "content-type": contentType });
    })
    .openapi(DOCTOR, async (c) => {
      if (!parts.examine) throw new ApiProblem("not_offered", "Run `codex-mcp-server doctor` on the server's machine.");
      const findings = (await parts.examine()).map(({ subject, verdict, text }) => ({ subject, verdict, text }));
      return c.json({ ok: findings.every(({ verdict }) => verdict !== "fails"), findings }, 200);
    });
}

function accountView(state: AccountState): z.infer<typeof AccountResource> {
  const none = { isNeeded: false, remedy: null, source: null, email: null, plan: null };
  const limits = limitsView(state.limits);
  switch (state.kind) {
    case "none":
      return { ...none, kind: "none", isNeeded: state.isNeeded, remedy: state.remedy ?? null, limits };
    case "apiKey":
      return { ...none, kind: "apiKey", source: state.source, limits };
    case "chatgpt":
      return { ...none, kind: "chatgpt", email: state.email ?? null, plan: state.plan ?? null, limits };
  }
}

function limitsView(limits: AccountState["limits"]): z.infer<typeof AccountResource>["limits"] {
  if (!limits) return null;
  const { windows, requests, tokens, at } = limits;
  const window = (given: RateLimitWindow | null | undefined) =>
    given ? { usedPercent: given.used_percent, windowMinutes: given.window_minutes, resetsAt: secondsText(given.resets_at) } : null;
  const key = (given: KeyLimit | undefined) =>
    given ? { limit: given.limit, remaining: given.remaining, resetsAt: secondsText(given.resetsAt) } : null;
  return {
    at: new Date(at).toISOString(),
    primary: window(windows?.primary),
    secondary: window(windows?.secondary),
    requests: key(requests),
    tokens: key(tokens),
  };
}

function secondsText(seconds: number | null): string | null {
  return seconds === null ? null : new Date(seconds * 1_000).toISOString();
}

/** From the newest threads; a caller's page may be short and still have a next one. */
async function projectsOf(agent: Agent, ask: Ask): Promise<z.infer<typeof ProjectList>> {
  const threads: ThreadSummary[] = [];
  let cursor: string | undefined;
  do {
    const page = await agent.watchable(ask, { limit: PAGE, cursor });
    threads.push(...page.threads);
    cursor = page.nextCursor;
  } while (cursor !== undefined && threads.length < MOST_THREADS && !ask.signal.aborted);
  const activities = await agent.activities(
    ask,
    threads.map(({ id }) => id),
  );
  const folders = new Map<string, ThreadSummary[]>();
  for (const thread of threads) folders.set(thread.cwd, [...(folders.get(thread.cwd) ?? []), thread]);
  const projects = [...folders].map(([cwd, there]) => {
    const states = there.map(({ id }) => activities.get(id)?.state);
    const last = Math.max(...there.map(({ lastUsedAt }) => Date.parse(lastUsedAt) || 0));
    return {
      cwd,
      threads: there.length,
      running: states.filter((state) => state === "running").length,
      waiting: states.filter((state) => state === "waiting").length,
      updatedAt: new Date(last).toISOString(),
    };
  });
  return { projects: projects.sort((one, other) => (one.updatedAt < other.updatedAt ? 1 : -1)), complete: cursor === undefined };
}
