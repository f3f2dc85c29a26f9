import fc from 'fast-check';
import { expect, it } from 'vitest';
import { gatherBytes } from './gathered-bytes.ts';

it('gathered bytes equal the received bytes, however they were cut', () => {
  const sizes = fc.array(fc.oneof(fc.integer({ min: 0, max: 70_000 }), fc.constant(1024 * 1024)), { maxLength: 30 });
  fc.assert(
    fc.property(sizes, (all) => {
      const gathered = gatherBytes();
      const pieces = all.map((size, i) => Buffer.alloc(size, `${i} of ${size}.`));
      for (const piece of pieces) gathered.add(piece);
      expect(Buffer.from(gathered.join()).equals(Buffer.concat(pieces))).toBe(true);
    }),
    { numRuns: 50 },
  );
});
