import { versionSuite } from "./versionSuite.js";

await versionSuite("0.160.1");
