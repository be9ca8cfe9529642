import type * as program from "../../main.js";
import { CompiledFiles } from "./compiledFiles.js";

// The first file of the program, as small as can be: all others are loaded by it. It is bundled as CommonJS, which starts faster.
const files = new CompiledFiles(__dirname, require);
const { modules } = files.load("server.js") as { readonly modules: { readonly "src/main.ts": typeof program } };
// Never rejects.
void modules["src/main.ts"].main({ keepCompiled: () => files.keep() }).then((code) => process.exit(code));
