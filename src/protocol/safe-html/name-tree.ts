const ASCII = 128;
const LOWER_CASE = 0x20;

export type NameTree = (bytes: Buffer, from: number) => number;

/**
 * Finds the longest of a few lower-case names at a place of a text, in any letter case, with one look at each letter:
 * answers where it ends, or -1. A set of names would need a string for each place, and there may be a million of them.
 */
export function createNameTree(names: readonly string[]): NameTree {
  // Node 0 is the root; 0 as the next node says that there is none.
  const next: number[] = Array<number>(ASCII).fill(0);
  const isWhole: boolean[] = [false];
  for (const name of names) {
    let node = 0;
    for (const letter of Buffer.from(name)) {
      const place = node * ASCII + letter;
      if (next[place] === 0) {
        next[place] = isWhole.push(false) - 1;
        for (let i = 0; i < ASCII; i++) next.push(0);
      }
      node = next[place]!;
    }
    isWhole[node] = true;
  }
  const nodes = Int16Array.from(next);

  return (bytes, from) => {
    let node = 0;
    let end = -1;
    for (let at = from; at < bytes.length; at++) {
      const letter = bytes[at]! | LOWER_CASE;
      if (letter >= ASCII) break;
      node = nodes[node * ASCII + letter]!;
      if (node === 0) break;
      if (isWhole[node]) end = at + 1;
    }
    return end;
  };
}
