import { spawn } from "node:child_process";
import path from "node:path";
import { text } from "node:stream/consumers";
import { expect } from "vitest";
import { ask, handshake, openStream, toolCall } from "../support/http/httpClient.js";
import { openSocket } from "../support/http/httpSocketClient.js";
import { stateless } from "../support/http/statelessHttp.js";
import { type Attack, control, describeAttacks } from "./attack.js";
import { Ground } from "./ground.js";
import { openNaiveServer, runPlainly } from "./standIn.js";
import { tokenLines, Victim, type VictimOptions } from "./victim.js";

const NOBODY = 65_534;
const IS_ROOT = process.getuid?.() === 0;
const NEEDS_ROOT = IS_ROOT ? undefined : "only root can run a program as another user";
/** The API's answer when it takes the caller for Alice. */
const IS_ALICE = '"principal":"alice"';
/** A call that an open server accepts from any caller. */
const CALL = JSON.stringify(
  stateless({ method: "tools/call", params: { name: "codex-exec", arguments: { command: ["cat", "private.txt"] } } }).message,
);
const HEADERS = [
  "mcp-protocol-version: 2026-07-28",
  "mcp-method: tools/call",
  "mcp-name: codex-exec",
  "accept: application/json, text/event-stream",
];

/** Runs curl on a new connection, as the given user. */
async function curl(
  ground: Ground,
  url: string,
  { headers = [] as readonly string[], uid }: { headers?: readonly string[]; uid?: number } = {},
): Promise<void> {
  const given = [...HEADERS, "content-type: application/json", ...headers].flatMap((header) => ["-H", header]);
  const user = uid === undefined ? {} : { uid, gid: uid };
  const child = spawn("/usr/bin/curl", ["-s", "-m", "20", ...given, "-d", CALL, `${url}/mcp`], {
    cwd: "/",
    stdio: ["ignore", "pipe", "ignore"],
    ...user,
  });
  ground.see("what the stranger got", await text(child.stdout));
}

/** A server that listens without any token, as the README starts it. */
function onOpenPort(
  attack: Omit<Attack, "attempt" | "standIn" | "prepare"> & {
    readonly act: (ground: Ground, url: string) => unknown;
    readonly options?: VictimOptions;
  },
): Attack {
  const { act, options, ...rest } = attack;
  return {
    ...rest,
    prepare: (ground) => ground.hold(ground.inWorkspace("private.txt"), ground.secret("private file")),
    attempt: async (ground) => {
      await using victim = await Victim.listening(ground, options);
      await act(ground, victim.url);
      await victim.stillAnswers();
    },
    standIn: async (ground) => act(ground, await openNaiveServer(ground, ground.secret("private file"))),
  };
}

const PAGES = [
  "http://localhost:3000",
  "http://127.0.0.1:8888",
  "http://[::1]:5173",
  "null",
  "https://localhost",
  "http://evil.localhost:3000",
];
const FORWARDED = [
  "forwarded: for=203.0.113.7",
  "x-forwarded-for: 203.0.113.7",
  "x-forwarded-host: example.org",
  "x-forwarded-proto: https",
  "via: 1.1 proxy",
];

describeAttacks("a stranger", [
  onOpenPort({
    name: "call a server on loopback as another user of the machine",
    quick: true,
    skip: NEEDS_ROOT,
    act: (ground, url) => curl(ground, url, { uid: NOBODY }),
  }),
  {
    name: "log in with another user's cookie that a browser sent to a server of the attacker on another port",
    quick: true,
    on: "port",
    skip: NEEDS_ROOT,
    attempt: async (ground, victim) => useCookie(ground, victim.url, await cookieOfAlice(ground, victim.url)),
    gained: (ground) => (ground.saw(IS_ALICE) ? ["a login of alice"] : []),
    standIn: async (ground) => useCookie(ground, await openNaiveServer(ground, IS_ALICE), "cookie=any"),
  },
  ...FORWARDED.map((header) =>
    onOpenPort({
      name: `call a server without a token through a proxy that says ${header}`,
      act: (ground, url) => curl(ground, url, { headers: [header] }),
    }),
  ),
  onOpenPort({
    name: "call a server without a token from a page of another port",
    quick: true,
    act: async (ground, url) => {
      for (const origin of PAGES) {
        const opened = await openSocket(url, { headers: { origin }, protocols: [] }).catch(() => undefined);
        if (opened) ground.see("a socket", `OPENED-FROM ${origin}`);
        opened?.[Symbol.dispose]();
      }
    },
    gained: (ground) => (ground.saw("OPENED-FROM") ? ["a WebSocket"] : []),
  }),
  {
    name: "keep those with a valid token out by guessing",
    quick: true,
    on: "port",
    attempt: (ground, victim) => guess(ground, victim.url),
    gained: lockedOut,
    standIn: async (ground) => guess(ground, await openNaiveServer(ground)),
  },
  {
    name: "keep those with a valid token out when a token with many streams is withdrawn",
    on: "port",
    attempt: async (ground, victim) => {
      const bob = { authorization: `Bearer ${ground.secret("token of bob")}` };
      const sessions = await Promise.all(Array.from({ length: 12 }, () => ask(victim.url, { headers: bob, message: handshake(0) })));
      const streams = await Promise.all(
        sessions.map(({ session = "" }) => openStream(victim.url, { headers: { ...bob, "mcp-session-id": session } })),
      );
      ground.hold(path.join(ground.root, "keys/tokens"), tokenLines(ground).replace(/^bob .*\n/m, ""));
      // The server re-checks open streams at intervals; this waits longer than one interval.
      for (const stream of streams) await stream.end().catch(() => stream.end());
      await comeAsAlice(ground, victim.url);
    },
    gained: lockedOut,
    standIn: async (ground) => guess(ground, await openNaiveServer(ground)),
  },
]);

async function cookieOfAlice(ground: Ground, url: string): Promise<string> {
  const headers = { authorization: `Bearer ${ground.secret("token of alice")}`, "content-type": "application/json" };
  const response = await fetch(`${url}/api/v1/login`, { method: "POST", headers, body: "{}" });
  const [cookie = ""] = response.headers.getSetCookie().map((header) => header.split(";")[0]);
  const me = await fetch(`${url}/api/v1/me`, { headers: { cookie } });
  if (!(await me.text()).includes(IS_ALICE)) throw new Error("alice is not admitted with her own cookie");
  return cookie;
}

async function useCookie(ground: Ground, url: string, cookie: string): Promise<void> {
  const child = spawn("/usr/bin/curl", ["-s", "-m", "20", "-H", `cookie: ${cookie}`, `${url}/api/v1/me`], {
    cwd: "/",
    stdio: ["ignore", "pipe", "ignore"],
    uid: NOBODY,
    gid: NOBODY,
  });
  ground.see("what the stranger got", await text(child.stdout));
}

async function guess(ground: Ground, url: string): Promise<void> {
  for (let number = 0; number < 25; number++)
    await ask(url, { headers: { authorization: `Bearer wrong-${number}` }, message: handshake(0) });
  await comeAsAlice(ground, url);
}

async function comeAsAlice(ground: Ground, url: string): Promise<void> {
  const { status } = await ask(url, { headers: { authorization: `Bearer ${ground.secret("token of alice")}` }, message: handshake(0) });
  ground.see("the answer to alice", status === 200 ? "let in" : `LOCKED-OUT ${status}`);
}

function lockedOut(ground: Ground): string[] {
  return ground.saw("LOCKED-OUT") ? ["nobody gets in any more"] : [];
}

const WITH_NETWORK: VictimOptions = { config: "[sandbox_workspace_write]\nnetwork_access = true\n" };

/**
 * Sends a request and passes its connection on to new processes, each of which replaces the one before, while the server looks for the
 * process that holds it. Of some hundred tries, one succeeds if only the list of processes counts.
 */
const PASSED_ON = `
my ($port, $said) = @ARGV;
for my $try (1 .. 150) {
  if (!fork) {
    my $server = IO::Socket::INET->new("127.0.0.1:$port") or exit;
    print $server "POST /mcp HTTP/1.1\\r\\nHost: 127.0.0.1:$port\\r\\nContent-Type: application/json\\r\\nAccept: application/json, text/event-stream\\r\\nContent-Length: ", length $said, "\\r\\n\\r\\n$said";
    for (0 .. rand 3) { select undef, undef, undef, rand 0.012; exit if fork }
    sysread $server, my $answer, 4000;
    open my $note, ">", "note";
    print $note $answer;
    close $note;
    rename "note", "answer$try";
    exit;
  }
  wait;
  for (1 .. 100) { last if -e "answer$try"; select undef, undef, undef, 0.01 }
  open my $got, "<", "answer$try" or next;
  print "CALLED", "-" if <$got> =~ / 200 /;
}`;
const passingOn = (url: string) => `perl -MIO::Socket::INET -e '${PASSED_ON}' ${new URL(url).port} '${JSON.stringify(handshake(0))}'`;

describeAttacks("a command with network", [
  {
    name: "call the server that runs it by a process that is newer than the list of processes",
    attempt: async (ground) => {
      await using victim = await Victim.listening(ground, WITH_NETWORK);
      using local = await victim.session();
      await local.turn(`!call shell ${JSON.stringify({ command: ["bash", "-c", passingOn(victim.url)], timeout_ms: 60_000 })}\n!say done`);
      if (!ground.has("answer1")) throw new Error("Nothing was sent: the attack was not tried.");
    },
    gained: (ground) => (ground.saw("CALLED-") ? ["a call from inside"] : []),
    standIn: async (ground) => runPlainly(ground, passingOn(await openNaiveServer(ground))),
  },
  {
    name: "call the server that runs it",
    quick: true,
    prepare: (ground) => ground.hold(ground.inWorkspace("private.txt"), ""),
    attempt: async (ground) => {
      await using victim = await Victim.listening(ground, WITH_NETWORK);
      const given = [...HEADERS, "content-type: application/json"].map((header) => `-H '${header}'`).join(" ");
      const body = CALL.replace('"cat","private.txt"', '"echo","CALLED-"');
      const script = `for h in 127.0.0.1 localhost '[::1]'; do curl -s -m 10 ${given} -d '${body}' http://$h:${new URL(victim.url).port}/mcp; done`;
      using local = await victim.session();
      await local.runs(script);
    },
    gained: (ground) => (ground.saw("CALLED-") ? ["a call from inside"] : []),
    standIn: async (ground) => {
      await runPlainly(ground, `curl -s '${await openNaiveServer(ground, "CALLED-")}'`);
    },
  },
]);

control("the user who started a server without a token can call it with curl, and a page of its own may open a WebSocket", async () => {
  await using ground = await Ground.open();
  ground.write(ground.inWorkspace("private.txt"), "of the user's own");
  await using victim = await Victim.listening(ground);
  await curl(ground, victim.url);
  expect(ground.saw("of the user's own")).toBe(true);
  using own = await openSocket(victim.url, { headers: { origin: victim.url } });
  using none = await openSocket(victim.url);
  for (const socket of [own, none]) {
    socket.send(handshake(1));
    expect(await socket.answerTo(1)).toHaveProperty("result");
  }
});

control("a caller with a token is admitted, whatever its user, proxy headers or page's port are", async () => {
  await using ground = await Ground.open();
  await using victim = await Victim.onPort(ground);
  const authorization = `Bearer ${ground.secret("token of alice")}`;
  const { status, body } = await ask(victim.url, { headers: { authorization, "x-forwarded-for": "203.0.113.7" }, message: handshake(0) });
  expect([status, body]).toEqual([200, expect.objectContaining({ result: expect.anything() })]);
  expect((await ask(victim.url, { headers: { authorization }, message: toolCall(1, {}) })).status).not.toBe(401);
});
