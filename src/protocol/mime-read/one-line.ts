/** What is shown, stored and written into other messages as one line: without what ends one or steers a terminal. */
export const oneLine = (text: string): string => text.replace(/[\p{Cc}\p{Zl}\p{Zp}\p{Cs}]+/gu, ' ').trim();

/** One line of at most so many bytes, cut between characters. */
export function shortLine(text: string, bytesMax: number): string {
  const line = oneLine(text);
  if (Buffer.byteLength(line) <= bytesMax) return line;
  return Buffer.from(line)
    .subarray(0, bytesMax)
    .toString('utf8')
    .replace(/\ufffd+$/u, '');
}

/** A file's name as it reads: nothing in it shows its characters in another order (`fdp.exe` as `exe.pdf`). */
export const fileNameLine = (name: string): string => oneLine(name.replace(/\p{Bidi_Control}+/gu, ' '));
