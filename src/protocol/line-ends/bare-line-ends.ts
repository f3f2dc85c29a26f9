const CR = 0x0d;
const LF = 0x0a;

/** Watches a stream of bytes, however it is cut: `see` each piece, then ask what there was. */
export function createBareLineEnds(): { see(piece: Uint8Array): void; found(): 'CR' | 'LF' | undefined } {
  let bare: 'CR' | 'LF' | undefined;
  let isAfterCr = false;
  return {
    see(piece) {
      if (bare || piece.length === 0) return;
      if (isAfterCr && piece[0] !== LF) bare = 'CR';
      for (let at = piece.indexOf(LF); at >= 0 && !bare; at = piece.indexOf(LF, at + 1)) {
        const isPaired = at === 0 ? isAfterCr : piece[at - 1] === CR;
        if (!isPaired) bare = 'LF';
      }
      for (let at = piece.indexOf(CR); at >= 0 && at < piece.length - 1 && !bare; at = piece.indexOf(CR, at + 1)) {
        if (piece[at + 1] !== LF) bare = 'CR';
      }
      isAfterCr = piece.at(-1) === CR;
    },
    found: () => bare ?? (isAfterCr ? 'CR' : undefined),
  };
}
