import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { lstatSync, readdirSync } from "node:fs";
import path from "node:path";
import { type Attack, describeAttacks } from "./attack.js";
import type { Ground } from "./ground.js";
import { runPlainly } from "./standIn.js";
import type { VictimOptions } from "./victim.js";

const X64 = process.arch === "x64";
const SET_BITS = 0o6000;

/** Every way to create a file that runs with another user's rights. Raw calls use the numbers of x86-64. */
const SETUID: Readonly<Record<string, string>> = {
  chmod: "cp /bin/true x && chmod 4755 x",
  "chmod of the group's bit": "cp /bin/true x && chmod 2755 x",
  "chmod by letters": "cp /bin/true x && chmod u+s,g+s x",
  install: "install -m 4755 /bin/true x",
  "a copy that keeps its mode": "cp -p /bin/su x || cp -p /usr/bin/passwd x",
  "an archive that keeps modes": "tar -C /usr/bin -cpf - passwd | tar -xpf - --same-permissions",
  "perl's chmod": "cp /bin/true x && perl -e 'chmod 04755, \"x\"'",
  "perl's sysopen": "perl -MFcntl -e 'umask 0; sysopen(F, \"x\", O_CREAT|O_WRONLY, 04755)'",
  fchmod: 'cp /bin/true x && perl -e \'open F, "+<", "x"; chmod 04755, *F\'',
  ...(X64 && {
    fchmodat: "cp /bin/true x && perl -e '$p = \"x\"; syscall(268, -100, $p, 04755)'",
    fchmodat2: "cp /bin/true x && perl -e '$p = \"x\"; syscall(452, -100, $p, 04755, 0)'",
    creat: "perl -e 'umask 0; $p = \"x\"; syscall(85, $p, 04755)'",
    open: "perl -e 'umask 0; $p = \"x\"; syscall(2, $p, 65, 04755)'",
    openat: "perl -e 'umask 0; $p = \"x\"; syscall(257, -100, $p, 65, 04755)'",
    openat2: 'perl -e \'umask 0; $p = "x"; $how = pack("QQQ", 65, 04755, 0); syscall(437, -100, $p, $how, 24)\'',
    mknod: "perl -e 'umask 0; $p = \"x\"; syscall(133, $p, 0104755, 0)'",
    mknodat: "perl -e 'umask 0; $p = \"x\"; syscall(259, -100, $p, 0104755, 0)'",
  }),
};

/** Whether the machine's kernel has this call; a missing call gains nothing even without a sandbox. */
function knows(call: string): boolean {
  if (call !== "fchmodat2") return true;
  try {
    return (
      execFileSync("perl", ["-e", 'my $p = "/nowhere"; syscall(452, -100, $p, 0, 0); print $!{ENOSYS} ? "no" : "yes"'], {
        encoding: "utf8",
      }) === "yes"
    );
  } catch {
    return false;
  }
}

function setBits(ground: Ground): string[] {
  return readdirSync(ground.workspace)
    .filter((name) => lstatSync(ground.inWorkspace(name)).isFile() && (lstatSync(ground.inWorkspace(name)).mode & SET_BITS) !== 0)
    .map((name) => `${name} runs with others' rights`);
}

const LISTENER =
  'socket(S, PF_UNIX, SOCK_DGRAM, 0); bind(S, $ARGV[0] =~ s/^@// ? pack("S a*", 1, "\\0$ARGV[0]") : sockaddr_un($ARGV[0])) or die; $| = 1; print "ready\\n"; ' +
  'while (defined recv(S, $b, 100, 0)) { exit if $b eq "end"; open F, ">>", $ARGV[1]; print F $b; close F }';

/** Opens a datagram socket like that of the journal. A datagram that arrives leaves a mark. */
async function listenAt(ground: Ground, name: string): Promise<void> {
  const listener = spawn("perl", ["-MSocket", "-e", LISTENER, name, ground.mark("datagram")], { stdio: ["ignore", "pipe", "inherit"] });
  ground.atTheEnd(() => listener.kill("SIGKILL"));
  ground.notes["socket"] = name;
  await once(listener.stdout, "data");
  listeners.set(ground, listener);
}

const listeners = new WeakMap<Ground, ChildProcess>();

/** Ends the listener, which then has everything that was sent before. */
async function heardAll(ground: Ground): Promise<void> {
  const listener = listeners.get(ground);
  if (!listener) return;
  const ended = once(listener, "exit");
  await runPlainly(ground, sending(ground, "end"));
  await ended;
}

function sending(ground: Ground, text: string): string {
  const name = ground.notes["socket"] ?? "";
  const address = name.startsWith("@") ? `pack("S a*", 1, "\\0${name.slice(1)}")` : `sockaddr_un("${name}")`;
  return `perl -MSocket -e 'socketpair(A, B, AF_UNIX, SOCK_DGRAM, PF_UNSPEC) or die; send(A, "${text}", 0, ${address}) or die "$!"'`;
}

function connecting(ground: Ground): string {
  const name = ground.notes["socket"] ?? "";
  return `perl -MSocket -e 'socketpair(A, B, AF_UNIX, SOCK_DGRAM, PF_UNSPEC) or die; connect(A, sockaddr_un("${name}")) or die; syswrite(A, "in")'`;
}

const WITH_NETWORK = { config: "[sandbox_workspace_write]\nnetwork_access = true\n" };
const inFolder = ({ root }: Ground) => path.join(root, "journal");
const abstract = ({ root }: Ground) => `@${path.basename(root)}`;

const SOCKETS: readonly (readonly [string, (ground: Ground) => string, (ground: Ground) => string, VictimOptions])[] = [
  ["a datagram of a pair", inFolder, (ground) => sending(ground, "in"), {}],
  ["a connected end of a pair", inFolder, connecting, {}],
  ["a datagram of a pair, with network", inFolder, (ground) => sending(ground, "in"), WITH_NETWORK],
  ["a datagram of a pair to an abstract name, with network", abstract, (ground) => sending(ground, "in"), WITH_NETWORK],
];

/** All address families except those of the Internet and of the kernel. */
const OTHER_FAMILIES =
  "perl -e 'for (1..45) { next if $_ == 2 || $_ == 10 || $_ == 16; for $t (1, 2, 3, 5) { socket(S, $_, $t, 0) and print \"GOT-FAMILY-$_\\n\" } }'";

describeAttacks("a command", [
  ...Object.entries(SETUID).map(([how, script]): Attack => {
    return {
      name: `leave a program with the user's rights by ${how}`,
      ...(how === "chmod" && { quick: true }),
      skip: knows(how) ? undefined : "this kernel does not know the call",
      attempt: (_, victim) => victim.runs(script),
      gained: setBits,
      standIn: (ground) => runPlainly(ground, script),
    };
  }),
  ...SOCKETS.map(([how, place, script, options], at): Attack => {
    return {
      name: `reach a socket of the machine by ${how}`,
      ...(at === 0 && { quick: true }),
      victim: options,
      prepare: (ground) => listenAt(ground, place(ground)),
      attempt: async (ground, victim) => {
        await victim.runs(script(ground));
        await heardAll(ground);
      },
      standIn: async (ground) => {
        await runPlainly(ground, script(ground));
        await heardAll(ground);
      },
    };
  }),
  {
    name: "open a socket of another family, with network",
    quick: true,
    victim: WITH_NETWORK,
    attempt: (_, victim) => victim.runs(OTHER_FAMILIES),
    gained: (ground) => (ground.saw("GOT-FAMILY") ? ["a socket"] : []),
    standIn: (ground) => runPlainly(ground, OTHER_FAMILIES),
  },
]);
