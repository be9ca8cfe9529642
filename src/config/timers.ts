/** Node's timers fire at once when asked to wait longer than this. */
export const LONGEST_TIMER_MS = 2 ** 31 - 1;
