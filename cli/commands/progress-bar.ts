const BAR_WIDTH = 24;

/** `[######                  ] 10/40  note`, cut to the width of the terminal. */
export function progressBar(done: number, all: number, note: string, columns: number): string {
  const filled = all === 0 ? BAR_WIDTH : Math.floor((done / all) * BAR_WIDTH);
  const bar = `[${'#'.repeat(filled)}${' '.repeat(BAR_WIDTH - filled)}]`;
  // A line as wide as the terminal would wrap, and could not be replaced.
  return `${bar} ${done}/${all}  ${note}`.slice(0, columns - 1);
}
