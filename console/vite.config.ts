import { fileURLToPath } from "node:url";
import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";

const API = process.env["CONSOLE_API"] ?? "http://127.0.0.1:4096";

export default defineConfig({
  root: fileURLToPath(new URL(".", import.meta.url)),
  // Relative: behind a reverse proxy the console may be below any path.
  base: "./",
  plugins: [react()],
  build: {
    outDir: "../dist/console",
    emptyOutDir: true,
    target: "es2022",
    // The server's content security policy allows files of its own and no `data:` addresses.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    license: { fileName: "licenses.md" },
    reportCompressedSize: true,
  },
  // `npx vite console` shows changes at once, against a server that runs already.
  server: { proxy: { "/api": API, "/metrics": API } },
});
