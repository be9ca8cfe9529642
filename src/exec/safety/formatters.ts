import { operands } from "./options.js";

const ALWAYS = new Set("column cut printf sort tee tr uniq wc yes".split(" "));

/** What `xargs` may start without changing anything. */
const READING = new Set(
  "awk basename cat cut dirname du echo file grep head ls md5sum nl rg sed sha256sum sort stat tail uniq wc".split(" "),
);

/** A command that only shapes what another one printed, and tells nothing about the script. */
export function isFormatter([program = "", ...args]: readonly string[]): boolean {
  if (ALWAYS.has(program)) return true;
  switch (program) {
    case "head":
    case "tail":
      return operands(args, ["-n", "-c", "--lines", "--bytes"]).length === 0;
    case "awk":
      return operands(args, ["-F", "-v", "-f"]).length <= 1;
    case "sed":
      return operands(args, ["-e", "-f", "-l"]).length <= 1;
    case "xargs":
      return !changesFiles(args);
    default:
      return false;
  }
}

function changesFiles(xargs: readonly string[]): boolean {
  const [program = "echo"] = operands(xargs, ["-I", "-n", "-P", "-L", "-d", "-a", "-s", "-E"]);
  return !READING.has(program) || (program === "sed" && xargs.some((word) => /^(-[a-zA-Z]*i|--in-place)/.test(word)));
}
