import { versionSuite } from "./versionSuite.js";

await versionSuite("0.169.0");
