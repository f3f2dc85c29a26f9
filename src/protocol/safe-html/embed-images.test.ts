import { expect, it } from 'vitest';
import { contentIdsIn, embedImages } from './embed-images.ts';

it('an id is read in percent-encoding, and one that is none is itself', () => {
  expect([...contentIdsIn('cid:a%2Bb cid:%ff cid:plain')]).toEqual(['a+b', '%ff', 'plain']);
});

it('of a hundred thousand addresses the first thousand are looked at', () => {
  const html = Array.from({ length: 100_000 }, (_, i) => `cid:%ff${i} `).join('');
  expect(contentIdsIn(html).size).toBe(1000);
  let looks = 0;
  const images = new Map([['x', 'data:']]);
  images.get = () => void looks++;
  expect(embedImages(html, images, 1000)).toBe(html);
  expect(looks).toBe(1000);
});
