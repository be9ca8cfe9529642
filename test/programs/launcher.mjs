// A process between client and server, as npx or an editor's extension host is. It starts the program named by its arguments, and only it
// holds the other end of the program's stdin.
import { spawn } from "node:child_process";

const [program, ...args] = process.argv.slice(2);
const child = spawn(program, args, { stdio: ["pipe", "inherit", "inherit"] });
process.stdin.pipe(child.stdin);
