const UNITS = ['bytes', 'KiB', 'MiB', 'GiB', 'TiB'];

/** Formats a size for people, with three digits. */
export function bytesInWords(bytes: number): string {
  let size = bytes;
  let unit = 0;
  // A value that would round to 1024 of one unit is one of the next.
  while (size >= 1023.5 && bytes >= 1024 && unit < UNITS.length - 1) [size, unit] = [size / 1024, unit + 1];
  return `${unit === 0 ? size : Number(size.toPrecision(size < 1000 ? 3 : 4))} ${UNITS[unit]}`;
}

/** Formats a size in at most four characters, as `ls -h` does: 980B, 1.4K, 18K, 2.1M. */
export function bytesInBrief(bytes: number): string {
  let size = bytes;
  let unit = 0;
  while (size >= 999.5 && unit < BRIEF.length - 1) [size, unit] = [size / 1024, unit + 1];
  return `${unit === 0 || size >= 9.95 ? Math.round(size) : size.toFixed(1)}${BRIEF[unit]}`;
}

const BRIEF = ['B', 'K', 'M', 'G', 'T'];
