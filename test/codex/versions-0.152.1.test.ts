import { versionSuite } from "./versionSuite.js";

await versionSuite("0.152.1");
