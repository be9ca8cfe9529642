import { mkdir, symlink, writeFile } from "node:fs/promises";
import path from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { type HttpServer, startHttpServer } from "../support/http/httpServer.js";
import { ALICE, BOB, type Headers, OPERATOR, threePrincipals } from "../support/http/threePrincipals.js";
import { valueAt } from "../support/scenarios/scenario.js";
import { type Stage, setStage } from "../support/stage.js";

const NUMBERED = Array.from({ length: 100 }, (_, index) => `line ${index + 1}`).join("\n");

let stage: Stage;
let server: HttpServer;
let threadId: string;

beforeAll(async () => {
  stage = await setStage();
  const { workspace, root, codexHome } = stage;
  server = await startHttpServer({ stage, args: await threePrincipals(stage) });
  const files: Readonly<Record<string, string | Buffer>> = {
    "numbered.txt": NUMBERED,
    "one-line.js": "x".repeat(100_000),
    "picture.png": Buffer.from("\x89PNG\r\n\x1a\n\0\0\0", "latin1"),
    "huge.log": "0123456789abcde\n".repeat(400_000),
  };
  for (const [name, text] of Object.entries(files)) await writeFile(path.join(workspace, name), text);
  await writeFile(path.join(root, "outside.txt"), "kept outside\n");
  await symlink(path.join(root, "outside.txt"), path.join(workspace, "leads-out.txt"));
  await symlink(path.join(root, "missing.txt"), path.join(workspace, "leads-nowhere.txt"));
  await symlink(codexHome, path.join(workspace, "home"));
  await symlink("/proc/self/environ", path.join(workspace, "environ"));
  await symlink("loop", path.join(workspace, "loop"));
  await mkdir(path.join(workspace, "folder"));
  const { body } = await api(ALICE, "/threads", { prompt: "!say x", cwd: workspace, wait: 30 });
  threadId = String(valueAt(body, "thread.id"));
});
afterAll(async () => {
  await server?.[Symbol.asyncDispose]();
  await stage?.[Symbol.asyncDispose]();
});

async function api(who: Headers, where: string, body?: unknown): Promise<{ readonly status: number; readonly body: unknown }> {
  const answer = await fetch(`${server.origin}/api/v1${where}`, {
    headers: { ...who, ...(body === undefined ? {} : { "content-type": "application/json" }) },
    ...(body === undefined ? {} : { method: "POST", body: JSON.stringify(body) }),
  });
  return { status: answer.status, body: JSON.parse(await answer.text()) };
}

function lines(file: string, { who = ALICE, ...place }: { first?: number; last?: number; who?: Headers } = {}) {
  const query = new URLSearchParams({ path: file, ...Object.fromEntries(Object.entries(place).map(([name, at]) => [name, String(at)])) });
  return api(who, `/threads/${threadId}/file?${query.toString()}`);
}

it("shows the requested lines with some around them, by name and by absolute path", async () => {
  const { status, body } = await lines("numbered.txt", { first: 50, last: 52 });
  expect(status).toBe(200);
  expect(body).toMatchObject({ path: "numbered.txt", firstLine: 30, totalLines: 100, truncated: false });
  expect(valueAt(body, "lines")).toEqual(NUMBERED.split("\n").slice(29, 72));
  expect((await lines(path.join(stage.workspace, "numbered.txt"), { first: 50, last: 52 })).body).toEqual(body);
  expect((await lines("folder/../numbered.txt")).body).toMatchObject({ firstLine: 1, path: "numbered.txt" });
});

it("shows the end of a file that is shorter than it was", async () => {
  const { body } = await lines("numbered.txt", { first: 5_000, last: 5_001 });
  expect(valueAt(body, "lines")).toEqual(NUMBERED.split("\n").slice(59));
});

it("is limited in size", async () => {
  const { body: long } = await lines("one-line.js");
  expect(long).toMatchObject({ truncated: true, totalLines: 1 });
  expect(String(valueAt(long, "lines.0"))).toHaveLength(2_000);
  const { body: many } = await lines("huge.log", { first: 1, last: 100_000 });
  expect(many).toMatchObject({ truncated: true, totalLines: null });
  expect(valueAt(many, "lines")).toHaveLength(200);
  expect(await lines("huge.log", { first: 399_000 })).toMatchObject({ status: 422, body: { code: "file_not_shown" } });
});

it.each([
  ["a link out of the folder", "leads-out.txt"],
  ["a link to where nothing is", "leads-nowhere.txt"],
  ["a way out of the folder", "../outside.txt"],
  ["a way to where nothing is", "../missing.txt"],
  ["a whole path elsewhere", "/etc/passwd"],
  ["the server's own folder", "home/config.toml"],
  ["a link into /proc", "environ"],
  ["/proc", "/proc/self/environ"],
  ["a device", "/dev/zero"],
  ["a picture", "picture.png"],
  ["a folder", "folder"],
  ["the thread's folder", "."],
  ["a loop of links", "loop"],
  ["a file taken for a folder", "numbered.txt/x"],
  ["a name with a zero byte", "a\0b"],
  ["a name that is too long", "n".repeat(4_000)],
])("refuses %s", async (_, file) => {
  const { status, body } = await lines(file);
  expect(body).toMatchObject({ code: "file_not_shown" });
  expect(status).toBe(422);
  expect(JSON.stringify(body)).not.toContain("kept outside");
});

it.each([
  ["a folder", ".", "it is a folder."],
  ["a file taken for a folder", "numbered.txt/x", "a part of its path is a file."],
  ["a name that is too long", "n".repeat(4_000), "its name is too long."],
])("says why %s is not shown", async (_, file, why) => {
  expect(await lines(file)).toMatchObject({ status: 422, body: { detail: expect.stringMatching(new RegExp(`is not shown: ${why}$`)) } });
});

it("reports a missing file in the folder", async () => {
  expect(await lines("nothing.txt")).toMatchObject({ status: 404, body: { code: "file_not_found" } });
});

it("is open to callers who may see the thread", async () => {
  expect(await lines("numbered.txt", { who: BOB })).toMatchObject({ status: 404, body: { code: "thread_not_found" } });
  expect((await lines("numbered.txt", { who: OPERATOR })).status).toBe(200);
});
