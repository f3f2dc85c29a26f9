import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import fc from 'fast-check';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { openFileBlobs, type Blobs } from '../../platform/blobs/index.ts';
import { gatherContent, heldContent, readRaw } from './message-content.ts';

let root: string;
let blobs: Blobs;
beforeEach(() => {
  root = mkdtempSync(path.join(os.tmpdir(), 'rasket-content-'));
  blobs = openFileBlobs(root);
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

it('received content is stored byte for byte, however it was cut and wherever it is kept', async () => {
  const sizes = fc.array(fc.oneof(fc.integer({ min: 0, max: 70_000 }), fc.constant(300_000)), { maxLength: 12 });
  await fc.assert(
    fc.asyncProperty(sizes, fc.nat(12), async (all, heldCount) => {
      const gathered = gatherContent(blobs);
      const pieces = all.map((size, i) => Buffer.alloc(size, `${i} of ${size}.\n`));
      for (const [i, piece] of pieces.entries()) await gathered.add(piece, i < heldCount ? 'memory' : 'file');
      const content = await gathered.finish();
      const came = Buffer.concat(pieces);
      expect(content.bytes).toBe(came.length);
      expect(content.lines).toBe(heldContent(came).lines);
      expect((await content.whole()).equals(came)).toBe(true);
      expect((await content.head(1000)).equals(came.subarray(0, 1000))).toBe(true);
      expect(Buffer.from(readRaw(content.source)).equals(came)).toBe(true);
      await gathered.discard();
    }),
    { numRuns: 50 },
  );
});

it('a large message that is still arriving has no name on disk, so that a crash leaves no file', async () => {
  const gathered = gatherContent(blobs);
  for (let n = 0; n < 40; n++) await gathered.add(Buffer.alloc(65_536, 'x'), 'file');
  expect(readdirSync(root)).toEqual([]);
  await gathered.discard();
});
