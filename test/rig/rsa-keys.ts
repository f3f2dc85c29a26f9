import type { KeyObject } from 'node:crypto';
import { makeRsaKey as makeNew } from '../../src/platform/secrets/index.ts';

const KEPT = 12;
const kept: Promise<KeyObject>[] = [];
let made = 0;

/**
 * Returns keys as the program makes them. A key takes a third of a second and a suite has thousands of domains: after
 * the first dozen the same ones come around again, so that no domain has two equal ones.
 */
export function makeRsaKey(bits: number): Promise<KeyObject> {
  if (bits !== 2048) return makeNew(bits);
  return (kept[made++ % KEPT] ??= makeNew(bits));
}
