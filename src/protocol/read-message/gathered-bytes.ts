/** Most parts are smaller, and are joined from the pieces in which they came. */
const BLOCK_BYTES = 1024 * 1024;

export interface GatheredBytes {
  /** Keeps the piece as long as there is little. */
  add(piece: Uint8Array): void;
  /** Returns everything in memory of its own; may be called once. */
  join(): ArrayBuffer;
}

/** Gathers the bytes of a part into one buffer, while at most one block of them is held twice. */
export function gatherBytes(): GatheredBytes {
  let pieces: Uint8Array[] = [];
  const blocks: Uint8Array<ArrayBuffer>[] = [];
  let size = 0;

  function put(piece: Uint8Array): void {
    for (let at = 0; at < piece.length;) {
      const filled = size % BLOCK_BYTES;
      if (filled === 0) blocks.push(new Uint8Array(BLOCK_BYTES));
      const taken = piece.subarray(at, at + BLOCK_BYTES - filled);
      blocks.at(-1)?.set(taken, filled);
      at += taken.length;
      size += taken.length;
    }
  }

  return {
    add(piece) {
      if (blocks.length === 0 && size + piece.length <= BLOCK_BYTES) {
        pieces.push(piece);
        size += piece.length;
        return;
      }
      const held = pieces;
      if (held.length > 0) [pieces, size] = [[], 0];
      for (const each of [...held, piece]) put(each);
    },
    join() {
      const whole = new Uint8Array(size);
      let at = 0;
      for (const piece of pieces) {
        whole.set(piece, at);
        at += piece.length;
      }
      for (const block of blocks) {
        whole.set(block.subarray(0, size - at), at);
        at += Math.min(BLOCK_BYTES, size - at);
        letGo(block);
      }
      return whole.buffer;
    },
  };
}

/** Frees the block's memory at once, instead of when garbage is next collected. */
const letGo = ({ buffer }: Uint8Array<ArrayBuffer>): void => void buffer.transfer(0);
