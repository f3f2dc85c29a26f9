/** Most messages are smaller, and are joined from the pieces in which they came. */
const BLOCK_BYTES = 1024 * 1024;

export interface GatheredContent {
  add(piece: Buffer): void;
  /** Returns everything as one buffer; may be called once. */
  join(): Buffer;
  drop(): void;
}

/** Gathers content into one buffer, while at most one block of it is held twice. */
export function gatherContent(): GatheredContent {
  let pieces: Buffer[] = [];
  let blocks: Buffer[] = [];
  let size = 0;

  function put(piece: Buffer): void {
    for (let at = 0; at < piece.length;) {
      const filled = size % BLOCK_BYTES;
      if (filled === 0) blocks.push(Buffer.allocUnsafeSlow(BLOCK_BYTES));
      const taken = piece.copy(blocks.at(-1) ?? piece, filled, at, at + BLOCK_BYTES - filled);
      at += taken;
      size += taken;
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
      if (blocks.length === 0) return Buffer.concat(pieces);
      const whole = Buffer.allocUnsafeSlow(size);
      let at = 0;
      for (const block of blocks) {
        at += block.copy(whole, at, 0, Math.min(BLOCK_BYTES, size - at));
        letGo(block);
      }
      return whole;
    },
    drop() {
      for (const block of blocks) letGo(block);
      [pieces, blocks, size] = [[], [], 0];
    },
  };
}

/** Frees the block's memory at once, instead of when garbage is next collected. */
const letGo = ({ buffer }: Buffer): void => void (buffer as ArrayBuffer).transfer(0);
