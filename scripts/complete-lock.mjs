// Adds optional packages for other platforms to the lock file. `npm install` leaves them out if the registry does not offer them, but `npm ci` needs
// them. Run it after each change of the dependencies.
import { readFileSync, writeFileSync } from "node:fs";

const SYSTEMS = ["aix", "android", "darwin", "freebsd", "linux", "netbsd", "openbsd", "openharmony", "sunos", "win32"];
const PROCESSORS = ["arm64", "arm", "ia32", "loong64", "mips64el", "ppc64", "riscv64", "s390x", "wasm32", "x64"];

const lock = JSON.parse(readFileSync("package-lock.json", "utf8"));
let added = 0;
for (const entry of Object.values(lock.packages)) {
  for (const [name, version] of Object.entries(entry.optionalDependencies ?? {})) {
    const place = `node_modules/${name}`;
    if (lock.packages[place]) continue;
    lock.packages[place] = { version, dev: true, optional: true, ...platformOf(name) };
    added++;
  }
}
lock.packages = Object.fromEntries(Object.entries(lock.packages).sort(([a], [b]) => (a < b ? -1 : 1)));
writeFileSync("package-lock.json", `${JSON.stringify(lock, null, 2)}\n`);
console.log(`${added} optional packages added to package-lock.json`);

/** The names of such packages contain their platform. */
function platformOf(name) {
  const words = name.split(/[/-]/);
  const os = SYSTEMS.find((system) => words.includes(system));
  const cpu = PROCESSORS.find((processor) => words.includes(processor));
  const libc = words.includes("musl") ? "musl" : words.includes("gnu") ? "glibc" : undefined;
  return { ...(cpu ? { cpu: [cpu] } : {}), ...(libc ? { libc: [libc] } : {}), ...(os ? { os: [os] } : {}) };
}
