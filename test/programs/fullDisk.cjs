// Loaded with --require: while the file FULL_DISK exists, whatever this process writes to a rollout fails as on a full disk.
const fs = require("node:fs");
const { syncBuiltinESMExports } = require("node:module");

const flag = process.env.FULL_DISK;
const rollouts = new Set();
const { openSync, writeSync } = fs;

fs.openSync = (path, ...rest) => {
  const fd = openSync(path, ...rest);
  if (String(path).endsWith(".jsonl")) rollouts.add(fd);
  else rollouts.delete(fd);
  return fd;
};

fs.writeSync = (fd, ...rest) => {
  if (!rollouts.has(fd) || !fs.existsSync(flag)) return writeSync(fd, ...rest);
  throw Object.assign(new Error("ENOSPC: no space left on device, write"), { errno: -28, code: "ENOSPC", syscall: "write" });
};

syncBuiltinESMExports();
