import { defaultModelSuite } from "./versionSuite.js";

await defaultModelSuite("0.169.0");
