import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:net";
import path from "node:path";
import type { HiddenPlace } from "../../src/exec/sandbox/hiddenPlaces.js";

/** Everything that a command could try to reach, and the means to detect success. */
export interface Stage extends AsyncDisposable {
  readonly homeFolder: string;
  readonly workspace: string;
  readonly secondRoot: string;
  /** For the scripts: OUTSIDE, SECOND_ROOT, HOME_FOLDER, CODEX_HOME, TCP_PORT, UNIX_SOCKET, ABSTRACT_SOCKET, DATAGRAM_SOCKET, ABSTRACT_DATAGRAM_SOCKET, FOREIGN_PID. */
  readonly variables: Readonly<Record<string, string>>;
  /** What a command changed or reached although it must not. Examined from outside the sandbox. */
  damage(): string[];
}

const HEAD = "ref: refs/heads/main\n";

/** The same for all stages below a parent, so that one sandbox can hide the files of each. */
export function homeFolderIn(parent: string): string {
  return path.join(parent, "home");
}

export function hiddenIn(homeFolder: string): HiddenPlace[] {
  return [{ folder: path.join(homeFolder, "codex-home") }];
}

export async function openStage(parent: string): Promise<Stage> {
  const homeFolder = homeFolderIn(parent);
  const workspace = path.join(homeFolder, "deep/workspace");
  const outside = path.join(homeFolder, "deep/outside");
  const codexHome = path.join(homeFolder, "codex-home");
  const secondRoot = path.join(homeFolder, "second");
  for (const folder of [path.join(workspace, ".git/hooks"), path.join(workspace, ".git/objects"), path.join(workspace, ".git/refs")])
    mkdirSync(folder, { recursive: true });
  for (const folder of [outside, secondRoot, path.join(codexHome, "log")]) mkdirSync(folder, { recursive: true });
  writeFileSync(path.join(workspace, ".git/HEAD"), HEAD);
  writeFileSync(path.join(outside, "file"), "untouched");
  writeFileSync(path.join(codexHome, "auth.json"), "top-secret", { mode: 0o600 });
  writeFileSync(path.join(codexHome, "log/server.log"), "top-secret");
  const unixSocket = path.join(homeFolder, "socket");
  const abstractSocket = `codex-mcpd-test-${process.pid}`;
  const reached: string[] = [];
  const servers = await Promise.all([
    listen({ port: 0, host: "127.0.0.1" }, () => reached.push("TCP")),
    listen({ path: unixSocket }, () => reached.push("UNIX")),
    listen({ path: `\0${abstractSocket}` }, () => reached.push("abstract")),
  ]);
  const datagramSocket = path.join(homeFolder, "datagrams");
  const abstractDatagramSocket = `${abstractSocket}-datagrams`;
  const datagrams = await listenForDatagrams([datagramSocket, `\0${abstractDatagramSocket}`], () => reached.push("datagrams"));
  const foreign = spawn("sleep", ["1000"], { env: { ...process.env, FOREIGN_SECRET: "top-secret" }, stdio: "ignore" });
  await once(foreign, "spawn");
  const address = servers[0].address();
  return {
    homeFolder,
    workspace,
    secondRoot,
    variables: {
      OUTSIDE: outside,
      SECOND_ROOT: secondRoot,
      HOME_FOLDER: homeFolder,
      CODEX_HOME: codexHome,
      TCP_PORT: String(typeof address === "object" ? address?.port : ""),
      UNIX_SOCKET: unixSocket,
      ABSTRACT_SOCKET: abstractSocket,
      DATAGRAM_SOCKET: datagramSocket,
      ABSTRACT_DATAGRAM_SOCKET: abstractDatagramSocket,
      FOREIGN_PID: String(foreign.pid),
    },
    damage: () => [
      ...reached.map((name) => `${name} was reached`),
      ...(foreign.exitCode === null && foreign.signalCode === null ? [] : ["the process outside is dead"]),
      ...changesIn({ workspace, outside, secondRoot, codexHome }),
    ],
    [Symbol.asyncDispose]: async () => {
      await Promise.all([...servers.map(close), end(foreign), end(datagrams)]);
      rmSync(homeFolder, { recursive: true, force: true });
    },
  };
}

function changesIn({
  workspace,
  outside,
  secondRoot,
  codexHome,
}: Record<"workspace" | "outside" | "secondRoot" | "codexHome", string>): string[] {
  const expected: readonly (readonly [string, boolean])[] = [
    ["outside files", listing(outside) === "file" && text(path.join(outside, "file")) === "untouched"],
    [".git", text(path.join(workspace, ".git/HEAD")) === HEAD && listing(path.join(workspace, ".git")) === "HEAD,hooks,objects,refs"],
    ["git hooks", listing(path.join(workspace, ".git/hooks")) === ""],
    [".codex", !existsSync(path.join(workspace, ".codex"))],
    [".agents", !existsSync(path.join(workspace, ".agents"))],
    ["the second root's .git", !existsSync(path.join(secondRoot, ".git"))],
    ["credentials", text(path.join(codexHome, "auth.json")) === "top-secret" && statSync(path.join(codexHome, "log")).isDirectory()],
  ];
  return expected.filter(([, asItWas]) => !asItWas).map(([what]) => `${what} changed`);
}

function listing(folder: string): string | undefined {
  return existsSync(folder) ? readdirSync(folder).sort().join() : undefined;
}

function text(file: string): string | undefined {
  return existsSync(file) ? readFileSync(file, "utf8") : undefined;
}

async function listen(where: { port: number; host: string } | { path: string }, onReached: () => void): Promise<Server> {
  const server = createServer((socket) => {
    onReached();
    socket.on("error", () => {}).resume();
  });
  server.listen(where);
  await once(server, "listening");
  return server;
}

/** A program in Perl, because Node has no datagram sockets for UNIX paths. */
const DATAGRAM_LISTENER = `
  use Socket; $| = 1; my $ready = "";
  for my $path (map { pack("H*", $_) } @ARGV) {
    socket(my $s, PF_UNIX, SOCK_DGRAM, 0) or die $!;
    bind($s, $path =~ /^\\0/ ? pack("S a*", 1, $path) : sockaddr_un($path)) or die $!;
    push @sockets, $s; vec($ready, fileno($s), 1) = 1;
  }
  print "listening\\n";
  while (select(my $come = $ready, undef, undef, undef)) {
    for my $s (@sockets) { recv($s, my $text, 99, 0), print "reached\\n" if vec($come, fileno($s), 1) }
  }
`;

async function listenForDatagrams(paths: readonly string[], onReached: () => void): Promise<ChildProcess> {
  const words = paths.map((each) => Buffer.from(each).toString("hex"));
  const child = spawn("perl", ["-e", DATAGRAM_LISTENER, ...words], { stdio: ["ignore", "pipe", "inherit"] });
  await Promise.race([once(child.stdout, "data"), once(child, "exit").then(() => Promise.reject(new Error("no listener for datagrams")))]);
  child.stdout.on("data", onReached);
  return child;
}

async function close(server: Server): Promise<void> {
  server.close();
  await once(server, "close");
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.kill("SIGKILL");
  await once(child, "exit");
}
