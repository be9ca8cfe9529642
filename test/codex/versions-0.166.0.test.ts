import { versionSuite } from "./versionSuite.js";

await versionSuite("0.166.0");
