/** All that is used of the official client. Imported dynamically and from here only: it is larger than the rest of the server together. */
export { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
