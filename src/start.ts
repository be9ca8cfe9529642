import { findCodexHome } from "./config/codexHome.js";
import { enableCompileCache } from "./platform/compileCache.js";

// The first file of the program, kept as small as possible: the compile cache covers only files that are loaded after it was enabled.
enableCompileCache(() => findCodexHome(process.env));
void import("./main.js").then(({ main }) => main()).then((code) => process.exit(code));
