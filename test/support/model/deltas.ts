type Body = Readonly<Record<string, unknown>>;

export function isDelta(type: string): boolean {
  return type.endsWith("_delta");
}

/**
 * Joins the deltas of one type to texts, one for each source. The server decides how a text is split into deltas, and
 * the order of a command's two streams is random.
 */
export function joinDeltas(deltas: readonly Body[]): Body[] {
  const texts = new Map<string, { readonly body: Body; readonly pieces: Buffer[] }>();
  for (const { delta, chunk, ...body } of deltas) {
    const source = JSON.stringify([body["item_id"], body["call_id"], body["stream"]]);
    const text = texts.get(source) ?? { body, pieces: [] };
    text.pieces.push(typeof chunk === "string" ? Buffer.from(chunk, "base64") : Buffer.from(String(delta)));
    texts.set(source, text);
  }
  return [...texts.values()]
    .sort((one, other) => String(one.body["stream"]).localeCompare(String(other.body["stream"])))
    .map(({ body, pieces }) => ({ ...body, text: Buffer.concat(pieces).toString() }));
}
