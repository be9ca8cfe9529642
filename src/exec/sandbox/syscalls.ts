/** Calls that are denied whatever a command may write or reach: they bypass mounts, or affect other processes or the kernel. */
export const DENIED_CALLS = [
  "ptrace",
  "process_vm_readv",
  "process_vm_writev",
  "pidfd_getfd",
  "kcmp",
  "mount",
  "umount2",
  "pivot_root",
  "setns",
  "open_tree",
  "open_tree_attr",
  "move_mount",
  "fsopen",
  "fsconfig",
  "fsmount",
  "fspick",
  "mount_setattr",
  "open_by_handle_at",
  "io_uring_setup",
  "io_uring_enter",
  "io_uring_register",
  "bpf",
  "perf_event_open",
  "userfaultfd",
  "keyctl",
  "add_key",
  "request_key",
  "kexec_load",
  "kexec_file_load",
  "init_module",
  "finit_module",
  "delete_module",
] as const;

/** Calls that may create a file, with the position of their flags; the mode is the next argument. */
export const OPENING_CALLS = [
  { name: "openat", flags: 2 },
  { name: "open", flags: 1 },
] as const;

/** Calls that set a file's mode, with the position of that argument. */
export const MODE_ARGUMENTS = [
  { name: "fchmod", at: 1 },
  { name: "fchmodat", at: 2 },
  { name: "fchmodat2", at: 2 },
  { name: "mkdirat", at: 2 },
  { name: "mknodat", at: 2 },
  { name: "chmod", at: 1 },
  { name: "creat", at: 1 },
  { name: "mkdir", at: 1 },
  { name: "mknod", at: 1 },
] as const;

/** Newer architectures never had them. */
type OldCall = "open" | "creat" | "chmod" | "mkdir" | "mknod";
type ModeCall = (typeof MODE_ARGUMENTS)[number]["name"] | (typeof OPENING_CALLS)[number]["name"];
type Call =
  | (typeof DENIED_CALLS)[number]
  | Exclude<ModeCall, OldCall>
  | "clone"
  | "clone3"
  | "openat2"
  | "unshare"
  | "socket"
  | "socketpair";

export interface CallTable {
  /** The kernel's AUDIT_ARCH_… constant. */
  readonly auditArch: number;
  /** Calls at or above this number belong to another calling convention (x32). */
  readonly foreignFrom?: number;
  readonly numbers: Readonly<Record<Call, number> & Partial<Record<OldCall, number>>>;
}

/** The same on every architecture since Linux 5.1. */
const UNIFIED = {
  io_uring_setup: 425,
  io_uring_enter: 426,
  io_uring_register: 427,
  open_tree: 428,
  move_mount: 429,
  fsopen: 430,
  fsconfig: 431,
  fsmount: 432,
  fspick: 433,
  clone3: 435,
  openat2: 437,
  pidfd_getfd: 438,
  mount_setattr: 442,
  fchmodat2: 452,
  open_tree_attr: 467,
} as const;

/** By `process.arch`. The arm64 numbers are taken from the kernel's generic table and have not been tested. */
export const CALL_TABLES: Readonly<Record<string, CallTable>> = {
  x64: {
    auditArch: 0xc000003e,
    foreignFrom: 0x40000000,
    numbers: {
      ...UNIFIED,
      open: 2,
      socket: 41,
      socketpair: 53,
      clone: 56,
      mkdir: 83,
      creat: 85,
      chmod: 90,
      fchmod: 91,
      ptrace: 101,
      mknod: 133,
      pivot_root: 155,
      mount: 165,
      umount2: 166,
      init_module: 175,
      delete_module: 176,
      kexec_load: 246,
      add_key: 248,
      request_key: 249,
      keyctl: 250,
      openat: 257,
      mkdirat: 258,
      mknodat: 259,
      fchmodat: 268,
      unshare: 272,
      perf_event_open: 298,
      open_by_handle_at: 304,
      setns: 308,
      process_vm_readv: 310,
      process_vm_writev: 311,
      kcmp: 312,
      finit_module: 313,
      kexec_file_load: 320,
      bpf: 321,
      userfaultfd: 323,
    },
  },
  arm64: {
    auditArch: 0xc00000b7,
    numbers: {
      ...UNIFIED,
      mknodat: 33,
      mkdirat: 34,
      umount2: 39,
      mount: 40,
      pivot_root: 41,
      fchmod: 52,
      fchmodat: 53,
      openat: 56,
      unshare: 97,
      kexec_load: 104,
      init_module: 105,
      delete_module: 106,
      ptrace: 117,
      socket: 198,
      socketpair: 199,
      add_key: 217,
      request_key: 218,
      keyctl: 219,
      clone: 220,
      perf_event_open: 241,
      open_by_handle_at: 265,
      setns: 268,
      process_vm_readv: 270,
      process_vm_writev: 271,
      kcmp: 272,
      finit_module: 273,
      bpf: 280,
      userfaultfd: 282,
      kexec_file_load: 294,
    },
  },
};
