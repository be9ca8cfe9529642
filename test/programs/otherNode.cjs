// Loaded with --require: this Node says that it has the version NODE_VERSION_SAID.
Object.defineProperty(process.versions, "node", { value: process.env.NODE_VERSION_SAID });
