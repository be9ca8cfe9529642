import { defaultModelSuite } from "./versionSuite.js";

await defaultModelSuite("0.160.1");
