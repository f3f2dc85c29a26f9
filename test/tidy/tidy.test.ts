import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { rules } from './rules.ts';

const root = path.resolve(import.meta.dirname, '../..');

describe('the tree', () => {
  for (const { promise, find } of rules) {
    it(promise, () => {
      expect(find(root).map(({ at, says }) => `${at} ${says}`)).toEqual([]);
    });
  }

  it('is tested with the Node.js version of the dependencies', () => {
    expect(process.versions.node).toMatch(/^24\./);
  });
});
