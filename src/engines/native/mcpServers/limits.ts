/** The longest message taken from a server, in characters. Pictures travel in them; a server that sends more is cut off. */
export const LONGEST_MESSAGE = 16 * 1024 * 1024;

/** As long as Node's timers go. The official client limits every request; ours are limited by whoever makes them. */
export const NO_LIMIT_MS = 2 ** 31 - 1;
