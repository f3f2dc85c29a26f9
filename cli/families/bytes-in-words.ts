const UNITS = ['bytes', 'KiB', 'MiB', 'GiB', 'TiB'];

/** As a person reads a size: three digits of it. */
export function bytesInWords(bytes: number): string {
  let [size, unit] = [bytes, 0];
  // What would be told as 1024 of one unit is one of the next.
  while (size >= 1023.5 && bytes >= 1024 && unit < UNITS.length - 1) [size, unit] = [size / 1024, unit + 1];
  return `${unit === 0 ? size : Number(size.toPrecision(size < 1000 ? 3 : 4))} ${UNITS[unit]}`;
}
