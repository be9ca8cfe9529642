// A client in between, as npx or an editor's extension host is: starts the program named by its arguments, and alone holds the other end of its stdin.
import { spawn } from "node:child_process";

const [program, ...args] = process.argv.slice(2);
const child = spawn(program, args, { stdio: ["pipe", "inherit", "inherit"] });
process.stdin.pipe(child.stdin);
