/** Everything we use of the official client. Imported dynamically and only from here: it is larger than the rest of the server together. */
export { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
