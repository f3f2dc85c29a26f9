/** The first `max` places where a pattern with the flag `g` matches. */
export function* firstMatches(text: string, pattern: RegExp, max: number): Generator<RegExpExecArray> {
  let count = 0;
  for (const match of text.matchAll(pattern)) {
    if (++count > max) return;
    yield match;
  }
}
