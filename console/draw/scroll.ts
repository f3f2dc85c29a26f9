/** Where a key leads in a text of so many lines, of which a page is seen; undefined for a key that does not move. */
export function scrollOf(key: string, at: number, page: number, length: number): number | undefined {
  const steps: Readonly<Record<string, number>> = {
    ...{ up: -1, k: -1, down: 1, j: 1, pageup: -page, 'ctrl-b': -page, pagedown: page, 'ctrl-f': page, ' ': page },
    ...{ 'ctrl-u': -Math.floor(page / 2), 'ctrl-d': Math.floor(page / 2), home: -at, g: -at, end: length, G: length },
  };
  const step = steps[key];
  return step === undefined ? undefined : Math.max(0, Math.min(at + step, length - page));
}
