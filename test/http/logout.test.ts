import { afterAll, beforeAll, expect, it } from "vitest";
import { type HttpServer, startHttpServer } from "../support/http/httpServer.js";
import { ALICE, threePrincipals } from "../support/http/threePrincipals.js";
import { type Stage, setStage } from "../support/stage.js";

let stage: Stage;
let server: HttpServer;
beforeAll(async () => {
  stage = await setStage();
  // Too long for the periodic check of open requests to play a part.
  server = await startHttpServer({ stage, args: await threePrincipals(stage), http: "keep_alive_seconds = 3600" });
});
afterAll(async () => {
  await server?.[Symbol.asyncDispose]();
  await stage?.[Symbol.asyncDispose]();
});

function api(method: string, path: string, headers: Readonly<Record<string, string>>, body?: unknown): Promise<Response> {
  const json = { method, headers: { ...headers, "content-type": "application/json" }, body: JSON.stringify(body) };
  return fetch(`${server.origin}/api/v1${path}`, body === undefined ? { method, headers } : json);
}

/** A browser of Alice's that is logged in and watches the server's events. */
async function browser() {
  const login = await api("POST", "/login", ALICE, {});
  const cookie = login.headers.get("set-cookie")?.split(";")[0] ?? "";
  const events = await api("GET", "/events", { cookie });
  expect([login.status, events.status]).toEqual([204, 200]);
  return { cookie, reader: (events.body ?? new ReadableStream()).pipeThrough(new TextDecoderStream()).getReader() };
}

type Reader = Awaited<ReturnType<typeof browser>>["reader"];

/** Everything up to the end of the stream, however it ends, or up to this text. */
async function readUntil(reader: Reader, last?: string): Promise<{ readonly text: string; readonly isOver: boolean }> {
  for (let text = ""; ; ) {
    const { done, value = "" } = await reader.read().catch(() => ({ done: true, value: undefined }));
    text += value;
    if (done || (last !== undefined && text.includes(last))) return { text, isOver: done };
  }
}

it("the event streams of a browser end when it logs out; another browser's go on", async () => {
  const [leaving, staying] = [await browser(), await browser()];
  const logout = await api("POST", "/logout", { cookie: leaving.cookie, origin: server.origin });
  expect([logout.status, logout.headers.get("set-cookie")]).toEqual([204, expect.stringContaining("Max-Age=0")]);
  const heard = await readUntil(leaving.reader);
  await api("POST", "/threads", ALICE, { prompt: "!say private", cwd: stage.workspace, wait: 30 });
  expect(heard).toEqual({ text: expect.not.stringContaining("thread.opened"), isOver: true });
  expect(await readUntil(staying.reader, "turn.ended")).toMatchObject({ isOver: false });
  await staying.reader.cancel();
  expect((await api("GET", "/me", { cookie: leaving.cookie })).status).toBe(401);
});
