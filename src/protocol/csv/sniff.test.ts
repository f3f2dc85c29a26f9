import { describe, expect, it } from 'vitest';
import { allEnds, endsOutside } from './sniff.ts';

/** Cuts the text at every position, and into single characters. */
function everyCut(make: () => (piece: string) => string, text: string): Set<string> {
  const read = (pieces: string[]): string => pieces.map(make()).join('');
  const cuts = Array.from({ length: text.length + 1 }, (_, at) => read([text.slice(0, at), text.slice(at)]));
  return new Set([...cuts, read([...text]), read([text, ''])]);
}

describe('line ends of a file that arrives in pieces', () => {
  it.each([
    ['a\r\nb\rc\n\r\n"d\r\ne"\n', 'a\nb\nc\n\n"d\ne"\n'],
    ['a\r\r\nb', 'a\n\nb'],
    ['', ''],
  ])('are all normalized in %j', (text, wanted) => {
    expect([...everyCut(allEnds, text)]).toEqual([wanted]);
  });

  it.each([
    ['a,"b\r\nc",d\r\n"\r""\r\n""\r"\r\n', 'a,"b\r\nc",d\n"\r""\r\n""\r"\n'],
    ['"x\r","\r\n"\ny\n', '"x\r","\r\n"\ny\n'],
    ['', ''],
  ])('are normalized between the rows of %j', (text, wanted) => {
    expect([...everyCut(() => endsOutside('"'), text)]).toEqual([wanted]);
  });
});
