import { CALL_TABLES } from "../../src/exec/sandbox/syscalls.js";

/** One way in which a command may try to do what its policy forbids. Harmless to the machine even if it works. */
export interface Attempt {
  readonly name: string;
  /** A script for bash in the workspace. It prints ESCAPED if it worked. Variables: see `Stage`. */
  readonly script: string;
  readonly policy?: PolicyName;
  /**
   * Who can run the same script successfully without the sandbox. This shows that the attempt is real and that the sandbox stops it. Absent
   * if it would harm the machine, or needs access that a plain process does not have either.
   */
  readonly worksFor?: "anyone" | "root" | "ordinary users";
  /** Without any sandbox (the default), or in a PID namespace only, if processes would otherwise stay behind on the machine. */
  readonly worksIn?: "nothing" | "a PID namespace";
}

export interface Played {
  readonly ended: string;
  readonly escaped: boolean;
  /** Damage that is visible from outside. */
  readonly damage: readonly string[];
  readonly said: string;
}

/** The same script in the sandbox and, where the comparison is fair, without it. */
export interface Outcome {
  readonly name: string;
  readonly confined: Played;
  readonly free: Played | undefined;
}

/** `home-writable`: commands may also write the folder around the workspace. */
export type PolicyName = "read-only" | "workspace-write" | "home-writable" | "with network";

const numbers: Readonly<Record<string, number>> = CALL_TABLES[process.arch]?.numbers ?? {};

/** Perl is part of every Debian and can make any system call. A text argument starts with a quote; $b is an empty buffer. */
function call(name: string, ...args: readonly (string | number)[]): string {
  const texts = args.map((arg, at) => (String(arg).startsWith('"') ? `my $t${at} = ${arg}; ` : "")).join("");
  const passed = args.map((arg, at) => (String(arg).startsWith('"') ? `$t${at}` : arg));
  const made = `my $r = syscall(${[numbers[name], ...passed].join(", ")});`;
  return `perl -e 'use Errno; my $b = "\\0" x 256; ${texts}$! = 0; ${made} print "ESCAPED\\n" unless $r == -1 && ($!{EPERM} || $!{ENOSYS})'`;
}

function reach(family: string, type: string, ...addresses: readonly string[]): string {
  const connected = addresses.map((address) => `connect($s, ${address})`).join(" or ");
  return `perl -MSocket -e 'socket(my $s, ${family}, ${type}, 0) or exit 1; ${connected} or exit 1; send($s, "in\\n", 0) or exit 1; print "ESCAPED\\n"'`;
}

/** Makes a system call, and checks whether the file x then has a set-id bit. */
function marks(name: string, ...args: readonly (string | number)[]): string {
  const texts = args.map((arg, at) => (String(arg).startsWith('"') ? `my $t${at} = ${arg}; ` : "")).join("");
  const passed = args.map((arg, at) => (String(arg).startsWith('"') ? `$t${at}` : arg));
  const made = `syscall(${[numbers[name], ...passed].join(", ")});`;
  return `perl -e 'open(my $f, "<", "x"); ${texts}${made} print "ESCAPED\\n" if -u "x"'`;
}

const O_TMPFILE = "020200000";
const AF_ALG = 38;
const AF_VSOCK = 40;

/** A socket pair does not reach the network by itself, but one end of an unconnected pair can send to any address. */
function sendFromPair(type: string, address: string): string {
  const pair = `socketpair(my $s, my $t, AF_UNIX, ${type}, PF_UNSPEC) or exit 1;`;
  return `perl -MSocket -e '${pair} send($s, "in\\n", 0, ${address}) or exit 1; print "ESCAPED\\n"'`;
}

function connectPair(type: string, address: string): string {
  return `perl -MSocket -e 'socketpair(my $s, my $t, AF_UNIX, ${type}, PF_UNSPEC) or exit 1; close($t); connect($s, ${address}) and print "ESCAPED\\n"'`;
}

const DATAGRAM_SOCKET = "sockaddr_un($ENV{DATAGRAM_SOCKET})";
const ABSTRACT_DATAGRAM_SOCKET = 'pack("S a*", 1, "\\0$ENV{ABSTRACT_DATAGRAM_SOCKET}")';

const LOCALHOST = 'sockaddr_in($ENV{TCP_PORT}, inet_aton("127.0.0.1"))';
const TCP = reach("PF_INET", "SOCK_STREAM", LOCALHOST);
const UDP = reach("PF_INET", "SOCK_DGRAM", LOCALHOST);
const UNIX = reach("PF_UNIX", "SOCK_STREAM", "sockaddr_un($ENV{UNIX_SOCKET})");
// Some versions of Node pad the name with zeros.
const ABSTRACT = reach("PF_UNIX", "SOCK_STREAM", ...["a*", "a108"].map((form) => `pack("S ${form}", 1, "\\0$ENV{ABSTRACT_SOCKET}")`));

const ON_FILES: readonly Attempt[] = [
  { name: "write outside the roots", script: 'echo x > "$OUTSIDE/made" && echo ESCAPED', worksFor: "anyone" },
  { name: "write outside by going up", script: "echo x > ../outside/made && echo ESCAPED", worksFor: "anyone" },
  { name: "write in the workspace under read-only", policy: "read-only", script: "echo x > made && echo ESCAPED", worksFor: "anyone" },
  { name: "write in /tmp under read-only", policy: "read-only", script: "mktemp && echo ESCAPED", worksFor: "anyone" },
  {
    name: "write through a link that leads outside",
    script: 'ln -s "$OUTSIDE" link; echo x > link/made && echo ESCAPED',
    worksFor: "anyone",
  },
  {
    name: "change a file outside through a hard link",
    script: 'ln "$OUTSIDE/file" hard && echo x >> hard && echo ESCAPED',
    worksFor: "anyone",
  },
  { name: "plant a git hook", script: "echo x > .git/hooks/pre-commit && echo ESCAPED", worksFor: "anyone" },
  { name: "change git's configuration", script: "git config core.pager evil && echo ESCAPED", worksFor: "anyone" },
  { name: "put another .git in place of the old one", script: "mv .git old && mkdir .git && echo ESCAPED", worksFor: "anyone" },
  { name: "remove .git", script: "rm -rf .git; [ -e .git ] || echo ESCAPED", worksFor: "anyone" },
  {
    name: "make a .codex that was not there",
    script: "mkdir -p .codex && echo x > .codex/config.toml && echo ESCAPED",
    worksFor: "anyone",
  },
  { name: "make .agents a link", script: 'rmdir .agents; ln -s "$OUTSIDE" .agents && [ -L .agents ] && echo ESCAPED', worksFor: "anyone" },
  {
    name: "make a .git in a folder that has none",
    script: 'cd "$SECOND_ROOT" && git init -q . && echo x > .git/hooks/pre-commit && echo ESCAPED',
    worksFor: "anyone",
  },
  {
    name: "move the folder around the workspace and put another one there",
    policy: "home-writable",
    script: 'mv "$HOME_FOLDER/deep" "$HOME_FOLDER/away" && mkdir -p "$HOME_FOLDER/deep/workspace/.git/hooks" && echo ESCAPED',
    worksFor: "anyone",
  },
  { name: "read credentials", script: 'grep -h top-secret "$CODEX_HOME/auth.json" && echo ESCAPED', worksFor: "anyone" },
  {
    name: "read credentials through a link",
    script: 'ln -s "$CODEX_HOME/auth.json" a; grep -h top-secret a && echo ESCAPED',
    worksFor: "anyone",
  },
  { name: "read the server's log", script: 'cat "$CODEX_HOME"/log/* && echo ESCAPED', worksFor: "anyone" },
  {
    name: "uncover credentials by moving their folder",
    policy: "home-writable",
    script: 'mv "$CODEX_HOME" "$HOME_FOLDER/other" && echo ESCAPED',
    worksFor: "anyone",
  },
  {
    name: "change a sysctl",
    script: 'v=$(cat /proc/sys/kernel/core_pattern); echo "$v" > /proc/sys/kernel/core_pattern && echo ESCAPED',
    worksFor: "root",
  },
  {
    name: "find anything writable in /sys or /proc/sys",
    script: "find /sys /proc/sys -type f -writable 2>/dev/null | grep -q . && echo ESCAPED",
    worksFor: "root",
  },
  { name: "find a disk in /dev", script: 'for d in /dev/* /dev/*/*; do [ -b "$d" ] && echo ESCAPED; done', worksFor: "anyone" },
  { name: "make a disk", script: "mknod disk b 7 0 && echo ESCAPED", worksFor: "root" },
  { name: "change the sandbox program", script: ": >> /proc/1/exe && echo ESCAPED" },
  { name: "write to a descriptor the server inherited", script: 'echo x >&"$STRAY_DESCRIPTOR" && echo ESCAPED' },
];

const ON_NAMESPACES: readonly Attempt[] = [
  { name: "remount / writable", script: "mount -o remount,bind,rw / && echo ESCAPED", worksFor: "root", worksIn: "a PID namespace" },
  { name: "mount something", script: "mkdir m; mount -t tmpfs none m && echo ESCAPED", worksFor: "root", worksIn: "a PID namespace" },
  { name: "take off the mount over .git", script: "umount -l .git && echo ESCAPED" },
  { name: "mount with the new calls", script: call("fsopen", '"tmpfs\\0"', 0), worksFor: "root" },
  { name: "clone a mount with the new calls", script: call("open_tree", -100, '"/\\0"', 1), worksFor: "root" },
  { name: "enter a user namespace of its own", script: "unshare --user --map-root-user true && echo ESCAPED", worksFor: "anyone" },
  { name: "enter a mount namespace of its own", script: "unshare --mount true && echo ESCAPED", worksFor: "root" },
  {
    name: "make a user namespace with clone",
    script: `perl -e 'my $r = syscall(${numbers["clone"]}, 0x10000011, 0, 0, 0, 0); exit 0 if $r == 0; print "ESCAPED\\n" if $r > 0'`,
    worksFor: "anyone",
  },
  { name: "make a namespace with clone3", script: call("clone3", "$b", 64), worksFor: "anyone" },
  { name: "change the root", script: 'perl -e \'chroot("/") and print "ESCAPED\\n"\'', worksFor: "root" },
  {
    name: "get capabilities by a setuid program",
    script: `"$SETUID_SHELL" -p -c 'grep ^CapEff: /proc/self/status' | cut -f 2 | grep -q '[1-9a-f]' && echo ESCAPED`,
    worksFor: "ordinary users",
  },
];

const ON_OTHERS: readonly Attempt[] = [
  { name: "kill a process outside", script: 'kill -9 "$FOREIGN_PID" && echo ESCAPED', worksFor: "anyone" },
  {
    name: "read the environment of a process outside",
    script: "cat /proc/[0-9]*/environ 2>/dev/null | tr '\\0' '\\n' | grep -q '^FOREIGN_SECRET=' && echo ESCAPED",
    worksFor: "anyone",
  },
  {
    name: "find the server's keys in the environment",
    script: "cat /proc/[0-9]*/environ 2>/dev/null | tr '\\0' '\\n' | grep -E '^(CODEX_MCP_TOKEN|PROVIDER_KEY)=' && echo ESCAPED",
    worksFor: "anyone",
  },
  { name: "trace a process", script: call("ptrace", 0, 0, 0, 0), worksFor: "anyone" },
  { name: "read the memory of another process", script: call("process_vm_readv", 1, "$b", 1, "$b", 1, 0) },
  { name: "write the memory of another process", script: "sleep 9 & : > /proc/$!/mem && echo ESCAPED", worksFor: "anyone" },
  { name: "use io_uring", script: call("io_uring_setup", 1, "$b"), worksFor: "anyone" },
  { name: "load a BPF program", script: call("bpf", 0, "$b", 128), worksFor: "root" },
  { name: "use the kernel's key rings", script: call("keyctl", 0, -3, 1), worksFor: "anyone" },
  { name: "add a kernel key", script: call("add_key", '"user\\0"', '"x\\0"', '"x"', 1, -3), worksFor: "anyone" },
  { name: "handle page faults", script: call("userfaultfd", 1) },
  { name: "watch performance counters", script: call("perf_event_open", "$b", 0, -1, -1, 0) },
];

/** Whether the open file has a set-id bit. */
const LENDS_RIGHTS = 'print "ESCAPED\\n" if (stat($f))[2] & 06000';

/** Another user who runs such a file acts as the server's user. */
const ON_RIGHTS: readonly Attempt[] = [
  { name: "leave a set-user-id file", script: "cp /bin/true x; chmod 4755 x; [ -u x ] && echo ESCAPED", worksFor: "anyone" },
  { name: "leave a set-group-id file", script: "cp /bin/true x; chmod g+s x; [ -g x ] && echo ESCAPED", worksFor: "anyone" },
  { name: "install a set-user-id file", script: "install -m 4755 /bin/true x; [ -u x ] && echo ESCAPED", worksFor: "anyone" },
  {
    name: "create a file with the set-user-id bit",
    script: `perl -MFcntl -e 'sysopen(my $f, "x", O_CREAT | O_WRONLY, 04755) or exit 1; ${LENDS_RIGHTS}'`,
    worksFor: "anyone",
  },
  {
    name: "create a file without a name with the set-user-id bit",
    script: `perl -MFcntl -e 'sysopen(my $f, ".", ${O_TMPFILE} | O_RDWR, 04755) or exit 1; ${LENDS_RIGHTS}'`,
    worksFor: "anyone",
  },
  {
    name: "create such a file with openat2",
    script: `perl -e 'my $t = "x\\0"; my $h = pack("QQQ", 0101, 04755, 0); syscall(${numbers["openat2"]}, -100, $t, $h, 24); print "ESCAPED\\n" if -u "x"'`,
    worksFor: "anyone",
  },
  { name: "change the mode of an open file", script: `: > x; ${marks("fchmod", "fileno($f)", 0o4755)}`, worksFor: "anyone" },
  {
    name: "change a mode relative to a folder",
    script: `: > x; ${marks("fchmodat", -100, '"x\\0"', 0o4755)}`,
    worksFor: "anyone",
  },
  {
    name: "change a mode with the newest call",
    script: `: > x; ${marks("fchmodat2", -100, '"x\\0"', 0o4755, 0)}`,
    worksFor: "anyone",
  },
  { name: "make a node with the set-user-id bit", script: marks("mknodat", -100, '"x\\0"', 0o104755, 0), worksFor: "anyone" },
];

const ON_NETWORK: readonly Attempt[] = [
  { name: "connect by TCP", script: TCP, worksFor: "anyone" },
  { name: "send by UDP", script: UDP, worksFor: "anyone" },
  { name: "connect to a UNIX socket", script: UNIX, worksFor: "anyone" },
  { name: "connect to an abstract UNIX socket", script: ABSTRACT, worksFor: "anyone" },
  { name: "connect to a UNIX socket with network allowed", policy: "with network", script: UNIX, worksFor: "anyone" },
  { name: "connect to an abstract UNIX socket with network allowed", policy: "with network", script: ABSTRACT, worksFor: "anyone" },
  { name: "send a datagram to a UNIX socket", script: sendFromPair("SOCK_DGRAM", DATAGRAM_SOCKET), worksFor: "anyone" },
  { name: "send a datagram by a raw pair", script: sendFromPair("SOCK_RAW", DATAGRAM_SOCKET), worksFor: "anyone" },
  {
    name: "send a datagram by a pair that does not block",
    script: sendFromPair("SOCK_DGRAM | SOCK_NONBLOCK", DATAGRAM_SOCKET),
    worksFor: "anyone",
  },
  {
    name: "send a datagram to a UNIX socket with network allowed",
    policy: "with network",
    script: sendFromPair("SOCK_DGRAM", DATAGRAM_SOCKET),
    worksFor: "anyone",
  },
  {
    name: "send a datagram to an abstract UNIX socket with network allowed",
    policy: "with network",
    script: sendFromPair("SOCK_DGRAM", ABSTRACT_DATAGRAM_SOCKET),
    worksFor: "anyone",
  },
  ...["SOCK_STREAM", "SOCK_SEQPACKET"].map(
    (type): Attempt => ({ name: `point a pair of type ${type} elsewhere`, script: connectPair(type, "sockaddr_un($ENV{UNIX_SOCKET})") }),
  ),
  {
    name: "talk to the machine around this one with network allowed",
    policy: "with network",
    script: `perl -MSocket -e 'socket(my $s, ${AF_VSOCK}, SOCK_STREAM, 0) and print "ESCAPED\\n"'`,
  },
  {
    name: "use the kernel's ciphers with network allowed",
    policy: "with network",
    script: `perl -MSocket -e 'socket(my $s, ${AF_ALG}, 5, 0) and print "ESCAPED\\n"'`,
  },
  {
    name: "write outside with network allowed",
    policy: "with network",
    script: 'echo x > "$OUTSIDE/made" && echo ESCAPED',
    worksFor: "anyone",
  },
];

export const ATTEMPTS: readonly Attempt[] = [...ON_FILES, ...ON_NAMESPACES, ...ON_OTHERS, ...ON_RIGHTS, ...ON_NETWORK];
