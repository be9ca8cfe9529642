import { defaultModelSuite } from "./versionSuite.js";

await defaultModelSuite("0.166.0");
