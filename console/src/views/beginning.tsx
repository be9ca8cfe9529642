import { ALL_THREADS, useHealth, useThreads } from "../state/queries.js";

/** How to begin, shown while there are no threads. */
export function Beginning() {
  const { data } = useThreads(ALL_THREADS);
  const { data: health } = useHealth();
  if (!data || data.pages.some(({ threads }) => threads.length > 0)) return null;
  const client = { mcpServers: { codex: { type: "http", url: new URL("../mcp", document.baseURI).href } } };
  return (
    <section className="beginning" aria-labelledby="beginning-heading">
      <h3 id="beginning-heading">There are no threads yet</h3>
      <p>
        Start one here: <a href="#/new">New thread</a>. Or let an MCP client start one:
      </p>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolling element must be reachable by keyboard */}
      <pre className="sample" tabIndex={0}>
        {JSON.stringify(client, null, 2)}
      </pre>
      <p className="quiet">The threads and questions of MCP clients appear here too.</p>
      {health?.engine === "scripted" && (
        <p className="quiet">
          This server has no model: it plays the lines of a prompt that begin with an exclamation mark. Try <code>!say hello</code>.
        </p>
      )}
    </section>
  );
}
