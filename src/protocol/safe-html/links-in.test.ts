import { expect, it } from 'vitest';
import { linksIn } from './embed-images.ts';

it('finds each address once, and gives up on a text that has only ever the same', () => {
  const same = '<a href="https://a.example">'.repeat(100);
  expect(linksIn(`${same}<a href=https://b.example>`, 10)).toEqual(['https://a.example', 'https://b.example']);
  expect(linksIn(`${same.repeat(50)}<a href=https://b.example>`, 10)).toEqual(['https://a.example']);
});
