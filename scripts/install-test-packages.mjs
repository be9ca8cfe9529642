// Makes sure that the programs that tests need are installed. Installs missing Debian packages if it has the permission; otherwise prints the command
// to run.
import { spawnSync } from "node:child_process";
import { accessSync, constants } from "node:fs";
import path from "node:path";

/** @type {Readonly<Record<string, string>>} program → Debian package */
const NEEDED = { bwrap: "bubblewrap", curl: "curl", git: "git", perl: "perl-base", script: "bsdutils", setpriv: "util-linux" };

/** For the console's tests, which are skipped with a message if there is no browser. */
const isForBrowser = process.argv.includes("--browser");
const FOR_BROWSER = { chromium: "chromium" };
const FAILED = isForBrowser ? 0 : 1;

const missing = Object.entries(isForBrowser ? FOR_BROWSER : NEEDED).filter(([program]) => !isOnPath(program));
if (process.platform === "linux" && missing.length > 0) install([...new Set(missing.map(([, name]) => name))]);

/** @param {readonly string[]} packages */
function install(packages) {
  const steps = [
    ["apt-get", "update"],
    ["apt-get", "install", "-y", "--no-install-recommends", ...packages],
  ];
  const byHand = `sudo sh -c '${steps.map((step) => step.join(" ")).join(" && ")}'`;
  if (process.getuid?.() !== 0 || !isOnPath("apt-get")) {
    console.error(`Tests need ${packages.join(", ")}. Install with:\n  ${byHand}`);
    process.exit(FAILED);
  }
  console.log(`Installing ${packages.join(", ")} for the tests.`);
  for (const [program, ...args] of steps) {
    const { status } = spawnSync(program ?? "", args, {
      stdio: ["ignore", "ignore", "inherit"],
      env: { ...process.env, DEBIAN_FRONTEND: "noninteractive" },
    });
    if (status === 0) continue;
    console.error(`The installation failed. Try:\n  ${byHand}`);
    process.exit(FAILED);
  }
}

/** @param {string} program */
function isOnPath(program) {
  return (process.env["PATH"] ?? "").split(path.delimiter).some((folder) => {
    try {
      accessSync(path.join(folder, program), constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
}
