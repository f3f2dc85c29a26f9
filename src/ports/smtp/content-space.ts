import { createFairShare } from '../../platform/fair-share/index.ts';

/** Where messages stand while they come in and wait to be read, over all connections. */
export interface ContentSpace {
  /** Whether a message of so many bytes would find room now. */
  fits(party: string, bytes: number): boolean;
  /** The space of one message from `party`. */
  begin(party: string): MessageSpace;
}

export interface MessageSpace {
  /** Where the next bytes go, in a file from the first that does on; undefined when there is no more room. */
  take(bytes: number): 'memory' | 'file' | undefined;
  giveBack(): void;
}

/** Larger messages, which are few, come into a file. */
const IN_MEMORY_BYTES = 128 * 1024;

/**
 * Of the files each party may take as much as it leaves to others, so that a party that keeps large messages open blocks only
 * its own. Where the memory is taken, ordinary messages go to files too.
 */
export function createContentSpace({ memoryBytes, fileBytes }: Record<'memoryBytes' | 'fileBytes', number>) {
  const memory = { free: memoryBytes };
  const files = createFairShare(fileBytes);
  const space: ContentSpace = {
    fits: (party, bytes) => bytes <= IN_MEMORY_BYTES || files.fits(party, bytes),
    begin(party) {
      let [held, filed] = [0, 0];
      return {
        take(bytes) {
          if (filed === 0 && held + bytes <= IN_MEMORY_BYTES && bytes <= memory.free) {
            memory.free -= bytes;
            held += bytes;
            return 'memory';
          }
          // What was held goes to the file with it.
          if (!files.fits(party, held + bytes)) return undefined;
          files.enter(party, held + bytes);
          filed += held + bytes;
          memory.free += held;
          held = 0;
          return 'file';
        },
        giveBack() {
          memory.free += held;
          if (filed > 0) files.leave(party, filed);
          [held, filed] = [0, 0];
        },
      };
    },
  };
  return space;
}
