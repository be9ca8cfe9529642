import { defaultModelSuite } from "./versionSuite.js";

await defaultModelSuite("0.152.1");
