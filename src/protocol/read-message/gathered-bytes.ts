const BLOCK_BYTES = 1024 * 1024;
/** Most parts are small; their only buffer starts with this size and doubles. */
const FIRST_BYTES = 4096;

export interface GatheredBytes {
  /** Copies the piece, so that millions of small ones cost no more than their bytes. */
  add(piece: Uint8Array): void;
  /** Returns everything in memory of its own; may be called once. */
  join(): ArrayBuffer;
}

/** Collects the bytes of a part in blocks, so that at most one block exists twice. */
export function gatherBytes(): GatheredBytes {
  const full: Uint8Array<ArrayBuffer>[] = [];
  let block = new Uint8Array(0);
  let filled = 0;

  /** Makes room for at least one byte, and for `bytes` if a block has as much. */
  function makeRoom(bytes: number): void {
    if (block.length === BLOCK_BYTES) {
      full.push(block);
      block = new Uint8Array(BLOCK_BYTES);
      filled = 0;
      return;
    }
    const size = Math.min(BLOCK_BYTES, Math.max(FIRST_BYTES, block.length * 2, filled + bytes));
    const larger = new Uint8Array(size);
    larger.set(block.subarray(0, filled));
    release(block);
    block = larger;
  }

  return {
    add(piece) {
      for (let at = 0; at < piece.length;) {
        if (filled === block.length) makeRoom(piece.length - at);
        const taken = piece.subarray(at, at + block.length - filled);
        block.set(taken, filled);
        at += taken.length;
        filled += taken.length;
      }
    },
    join() {
      const whole = new Uint8Array(full.length * BLOCK_BYTES + filled);
      for (const [i, each] of full.entries()) {
        whole.set(each, i * BLOCK_BYTES);
        release(each);
      }
      whole.set(block.subarray(0, filled), full.length * BLOCK_BYTES);
      release(block);
      return whole.buffer;
    },
  };
}

/** Frees the block's memory at once, instead of when garbage is next collected. */
const release = ({ buffer }: Uint8Array<ArrayBuffer>): void => void buffer.transfer(0);
