/** Makes the line ends of a text that comes in pieces into line feeds; what may be half of one waits for the next piece. */
export type RowEnds = (piece: string) => string;

/** Of files of unknown origin: every line end, those in quoted values too, however the quotes stand. */
export function allEnds(): RowEnds {
  let endedInReturn = false;
  return (piece) => {
    const text = endedInReturn && piece.startsWith('\n') ? piece.slice(1) : piece;
    if (piece !== '') endedInReturn = piece.endsWith('\r');
    return fed(text);
  };
}

/** Of an export of ours, whose quotes are in order: those between rows alone, so that values come back as they were. */
export function endsOutside(quote: string): RowEnds {
  let isInside = false;
  let held = '';
  return (piece) => {
    const text = held + piece;
    held = text.endsWith('\r') ? '\r' : '';
    const parts = text.slice(0, text.length - held.length).split(quote);
    const out = parts.map((part, i) => (isInside === (i % 2 === 0) ? part : fed(part)));
    if (parts.length % 2 === 0) isInside = !isInside;
    return out.join(quote);
  };
}

const fed = (text: string): string => (text.includes('\r') ? text.replaceAll(/\r\n?/g, '\n') : text);
