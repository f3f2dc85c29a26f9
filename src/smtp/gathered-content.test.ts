import fc from 'fast-check';
import { expect, it } from 'vitest';
import { gatherContent } from './gathered-content.ts';

it('content is what came, however it was cut', () => {
  const sizes = fc.array(fc.oneof(fc.integer({ min: 0, max: 70_000 }), fc.constant(1024 * 1024)), { maxLength: 30 });
  fc.assert(
    fc.property(sizes, (all) => {
      const gathered = gatherContent();
      const pieces = all.map((size, i) => Buffer.alloc(size, `${i} of ${size}.`));
      for (const piece of pieces) gathered.add(piece);
      expect(gathered.join().equals(Buffer.concat(pieces))).toBe(true);
    }),
    { numRuns: 50 },
  );
});

it('nothing is left of what was dropped', () => {
  const gathered = gatherContent();
  for (let n = 0; n < 40; n++) gathered.add(Buffer.alloc(65_536, 'x'));
  gathered.drop();
  gathered.add(Buffer.from('y'));
  expect(gathered.join().toString()).toBe('y');
});
