// Loaded with --require: the user of this process is not in the system's table of users, as in containers that are started with any number.
const os = require("node:os");
const { syncBuiltinESMExports } = require("node:module");

const unknown = (call) => {
  const message = `A system error occurred: ${call} returned ENOENT (no such file or directory)`;
  return Object.assign(new Error(message), { code: "ERR_SYSTEM_ERROR" });
};

os.userInfo = () => {
  throw unknown("uv_os_get_passwd");
};

os.homedir = () => {
  if (process.env.HOME === undefined) throw unknown("uv_os_homedir");
  return process.env.HOME;
};

syncBuiltinESMExports();
