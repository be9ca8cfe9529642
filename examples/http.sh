#!/bin/sh
# The server on HTTP with nothing but curl: a session's stream, a call answered by one JSON body, and a call answered by a stream.
set -eu
cd "$(dirname "$0")/.."
tmp=$(mktemp -d)
pids=
trap 'kill $pids 2>/dev/null || true; wait; rm -rf "$tmp"' EXIT

# Waits until a file that a background process writes contains the text. Fails after 15 seconds.
await() {
  for _ in $(seq 150); do
    if grep -q "$1" "$2" 2>/dev/null; then return; fi
    sleep 0.1
  done
  echo "'$1' never came; there is: $(cat "$2")" >&2
  exit 1
}

# With a real model: drop `--engine scripted` and CODEX_HOME, set OPENAI_API_KEY, and name a port, such as --port 3333.
CODEX_HOME=$tmp node dist/main.js --engine scripted --host 127.0.0.1 --port 0 2>"$tmp/server" &
pids=$!
await 'listening on' "$tmp/server"
url=$(sed -n 's/.*listening on //p' "$tmp/server")

# Open the session's stream. The id of the session is in the headers of its answer.
curl -sN -D "$tmp/headers" -H 'Accept: text/event-stream' "$url" >"$tmp/stream" &
pids="$pids $!"
await 'mcp-session-id' "$tmp/headers"
id=$(tr -d '\r' <"$tmp/headers" | sed -n 's/^mcp-session-id: //p')

# Send a request: its answer is the body.
curl -s -X POST -H 'Content-Type: application/json' -H "mcp-session-id: $id" \
  -d '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"curl","version":"1"}}}' \
  "$url" >"$tmp/initialized"
await '"protocolVersion":"2025-06-18"' "$tmp/initialized"

# Call the agent the same way. Meanwhile the stream shows what it does, and the answer as well.
curl -s -X POST -H 'Content-Type: application/json' -H "mcp-session-id: $id" \
  -d '{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"codex","arguments":{"prompt":"!say hello"}}}' \
  "$url" >"$tmp/answer"
await '"text":"hello"' "$tmp/answer"
await '"type":"task_complete"' "$tmp/stream"
await '"id":2' "$tmp/stream"

# The other way, without a separate stream: the POST itself streams everything up to its answer.
curl -sN -X POST -H 'Content-Type: application/json' -H 'Accept: text/event-stream' -H 'X-MCP-POST-STREAM: 1' \
  -d '{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"codex","arguments":{"prompt":"!say hello again"}}}' \
  "$url" >"$tmp/streamed"
await '"type":"task_complete"' "$tmp/streamed"
await '"text":"hello again"' "$tmp/streamed"

# End the session. Its streams end too, and its id is no longer valid.
curl -s -X DELETE -H "mcp-session-id: $id" "$url"
status=$(curl -s -o /dev/null -w '%{http_code}' -X POST -H 'Content-Type: application/json' -H "mcp-session-id: $id" \
  -d '{"jsonrpc":"2.0","id":4,"method":"ping"}' "$url")
test "$status" = 404

echo "a session of $(grep -c '^data:' "$tmp/stream") messages, and $(grep -c '^data:' "$tmp/streamed") on a POST of its own"
