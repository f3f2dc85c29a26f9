/**
 * Returns the candidate most similar to `given`, or undefined if none is similar enough. Two habits count as similar
 * besides typing errors: the right ending in the wrong section, and a name without its unit (`http.shutdown`).
 */
export function findNearest(given: string, candidates: Iterable<string>, ending = ''): string | undefined {
  let nearest: string | undefined;
  let least = Math.max(2, Math.min(6, given.length / 4)) + 0.5;
  for (const candidate of candidates) {
    const typed = editDistance(given, candidate);
    const isHabit = candidate.startsWith(`${given}_`) || (ending !== '' && candidate.endsWith(ending));
    if (!isHabit && !isLike(typed, given)) continue;
    const distance = isHabit ? Math.min(typed, 1.5 + typed / 1000) : typed;
    if (distance < least) [nearest, least] = [candidate, distance];
  }
  return nearest;
}

const SHORT_LETTERS = 3;

/** Reports whether fewer than half of the letters differ; of a short name, one. */
const isLike = (edits: number, given: string): boolean =>
  given.length <= SHORT_LETTERS ? edits <= 1 : edits * 2 < given.length;

/**
 * Counts insertions, deletions, replacements and swaps of neighbors (optimal string alignment), the usual typing
 * errors.
 */
export function editDistance(from: string, to: string): number {
  let beforeLast: number[] = [];
  let last = Array.from({ length: to.length + 1 }, (_, index) => index);
  for (let row = 1; row <= from.length; row++) {
    const current = [row];
    for (let column = 1; column <= to.length; column++) {
      const same = from[row - 1] === to[column - 1];
      const swapped = row > 1 && column > 1 && from[row - 1] === to[column - 2] && from[row - 2] === to[column - 1];
      const distances = [
        cell(last, column) + 1,
        cell(current, column - 1) + 1,
        cell(last, column - 1) + (same ? 0 : 1),
      ];
      if (swapped) distances.push(cell(beforeLast, column - 2) + 1);
      current.push(Math.min(...distances));
    }
    beforeLast = last;
    last = current;
  }
  return cell(last, to.length);
}

function cell(row: readonly number[], column: number): number {
  return row[column] ?? Infinity;
}
