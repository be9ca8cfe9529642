import { join } from "node:path";
import { SandboxFailed } from "../errors.js";
import type { Launch } from "../launch.js";
import { type ConfinedCommand, type Confinement, fileView, type Mount, planMounts } from "./fileView.js";
import { launchPlainly } from "./fullAccess.js";
import { allowsNetwork } from "./policy.js";

/** Not searched for: it is part of macOS. */
const SANDBOX_EXEC = "/usr/bin/sandbox-exec";

/** The command inside a generated profile. Not tested: no part of this has run on macOS. */
export function launchSeatbelt(command: ConfinedCommand, confinement: Confinement): Launch {
  const profile = seatbeltProfile({ mounts: planMounts(fileView(confinement)), network: allowsNetwork(confinement.policy) });
  return {
    ...launchPlainly({ ...command, argv: [SANDBOX_EXEC, "-p", profile, "--", ...command.argv] }),
    sandbox: {
      readStatus: () => ({ firstProcess: undefined, ran: true }),
      complaint: "sandbox-exec: ",
      explain: (stderr) => new SandboxFailed(stderr),
    },
  };
}

export interface SeatbeltRules {
  /** Outermost first. */
  readonly mounts: readonly Mount[];
  readonly network: boolean;
}

/**
 * Everything is denied except what is listed. The last matching rule wins, which corresponds to mounts on top of each other. Rules match by
 * path, so that a protected name is protected before it exists.
 */
export function seatbeltProfile({ mounts, network }: SeatbeltRules): string {
  return [
    "(version 1)",
    "(deny default)",
    "; processes: its own kind only",
    "(allow process-exec)",
    "(allow process-fork)",
    "(allow process-info* (target same-sandbox))",
    "(allow signal (target same-sandbox))",
    "; what every program asks the system for",
    "(allow sysctl-read)",
    "(allow ipc-posix-sem)",
    "(allow pseudo-tty)",
    "(allow user-preference-read)",
    ...SYSTEM_NAMES.map((name) => `(allow mach-lookup (global-name ${quoted(name)}))`),
    "; files: read everything, write only what is listed",
    "(allow file-read*)",
    "(allow file-ioctl)",
    ...DEVICES.map((device) => `(allow file-write* (literal ${quoted(device)}))`),
    ...TERMINALS.map((pattern) => `(allow file-write* (regex #${quoted(pattern)}))`),
    ...mounts.flatMap(rulesOf),
    ...(network ? ["; network", "(allow network-outbound)", "(allow network-inbound)", "(allow system-socket)"] : []),
    "",
  ].join("\n");
}

const SYSTEM_NAMES = [
  "com.apple.system.opendirectoryd.libinfo",
  "com.apple.system.opendirectoryd.membership",
  "com.apple.system.logger",
  "com.apple.system.notification_center",
  "com.apple.trustd.agent",
] as const;

const DEVICES = ["/dev/null", "/dev/zero", "/dev/tty", "/dev/dtracehelper"] as const;
const TERMINALS = ["^/dev/fd/[0-9]+$", "^/dev/ttys[0-9]+$"] as const;

function rulesOf(mount: Mount): string[] {
  const { path } = mount;
  const place = `(subpath ${quoted(path)})`;
  switch (mount.access) {
    case "write":
      return [`(allow file-read* file-write* ${place})`, `(deny file-write-unlink (literal ${quoted(path)}))`];
    case "protected":
      return [`(deny file-write* ${place})`];
    case "shown":
      return [`(allow file-read* ${place})`, `(deny file-write* ${place})`];
    case "hidden":
      return [`(deny file-read* file-write* ${place})`];
    case "screened":
      return mount.without.map((name) => `(deny file-read* file-write* (subpath ${quoted(join(mount.path, name))}))`);
  }
}

function quoted(text: string): string {
  return `"${text.replaceAll("\\", "\\\\").replaceAll('"', '\\"')}"`;
}
