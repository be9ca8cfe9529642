import { expect, it } from "vitest";
import { seatbeltProfile } from "./seatbelt.js";

const BASE = `(version 1)
(deny default)
; processes: its own kind only
(allow process-exec)
(allow process-fork)
(allow process-info* (target same-sandbox))
(allow signal (target same-sandbox))
; what every program asks the system for
(allow sysctl-read)
(allow ipc-posix-sem)
(allow pseudo-tty)
(allow user-preference-read)
(allow mach-lookup (global-name "com.apple.system.opendirectoryd.libinfo"))
(allow mach-lookup (global-name "com.apple.system.opendirectoryd.membership"))
(allow mach-lookup (global-name "com.apple.system.logger"))
(allow mach-lookup (global-name "com.apple.system.notification_center"))
(allow mach-lookup (global-name "com.apple.trustd.agent"))
; files: read everything, write only what is listed
(allow file-read*)
(allow file-ioctl)
(allow file-write* (literal "/dev/null"))
(allow file-write* (literal "/dev/zero"))
(allow file-write* (literal "/dev/tty"))
(allow file-write* (literal "/dev/dtracehelper"))
(allow file-write* (regex #"^/dev/fd/[0-9]+$"))
(allow file-write* (regex #"^/dev/ttys[0-9]+$"))
`;

it("read-only allows writes to devices only, and no network", () => {
  expect(seatbeltProfile({ mounts: [], network: false })).toBe(BASE);
});

it("rules for roots come before rules for paths inside them, because the last rule counts", () => {
  const mounts = [
    { path: "/Users/me/work", access: "write" },
    { path: "/Users/me/work/.git", access: "protected" },
    { path: "/Users/me/.codex", access: "hidden", hasMountsBelow: false },
  ] as const;
  expect(seatbeltProfile({ mounts, network: true })).toBe(`${BASE}(allow file-read* file-write* (subpath "/Users/me/work"))
(deny file-write-unlink (literal "/Users/me/work"))
(deny file-write* (subpath "/Users/me/work/.git"))
(deny file-read* file-write* (subpath "/Users/me/.codex"))
; network
(allow network-outbound)
(allow network-inbound)
(allow system-socket)
`);
});

it("a folder's name cannot end its rule", () => {
  const profile = seatbeltProfile({ mounts: [{ path: '/a") (allow default) ("\\', access: "write" }], network: false });
  expect(profile).toContain('(allow file-read* file-write* (subpath "/a\\") (allow default) (\\"\\\\"))');
});
