import { describe, expect, it } from 'vitest';
import type { DkimKeyRow } from './domain-rows.ts';
import { turnKeys } from './dkim-rotation.ts';

const key = (id: string, given: Partial<DkimKeyRow> = {}): DkimKeyRow =>
  ({ id, algorithm: 'rsa-sha256', status: 'active', status_at: 0, ...given }) as DkimKeyRow;
const at = { now: 1000, retireMs: 100 };
const turn = (keys: DkimKeyRow[], ...seen: string[]) => turnKeys(keys, ({ id }) => seen.includes(id), at);
const states = (keys: DkimKeyRow[]) => keys.map(({ id, status }) => `${id} ${status}`);

const old = [key('r1'), key('e1', { algorithm: 'ed25519-sha256' })];
const fresh = [key('r2', { status: 'incoming' }), key('e2', { status: 'incoming', algorithm: 'ed25519-sha256' })];

describe('turnKeys', () => {
  it.each([
    ['nothing', []],
    ['the old keys', ['r1', 'e1']],
    ['the new Ed25519 key alone', ['e2']],
  ])('changes nothing while DNS shows %s', (_, seen) => {
    expect(turn([...old, ...fresh], ...seen)).toEqual({
      keys: [...old, ...fresh],
      activated: [],
      retired: [],
      dropped: [],
    });
  });

  it('switches all keys at once when the new RSA key is seen', () => {
    const { keys } = turn([...old, ...fresh], 'r2');
    expect(states(keys)).toEqual(['r1 retiring', 'e1 retiring', 'r2 active', 'e2 active']);
    expect(keys.every(({ status_at: since }) => since === 1000)).toBe(true);
  });

  it('drops an old key when its time is over, and not before', () => {
    const retiring = (since: number) => key('r0', { status: 'retiring', status_at: since });
    expect(turn([retiring(901), ...old]).dropped).toEqual([]);
    const { keys, dropped } = turn([retiring(900), ...old]);
    expect([states(keys), states(dropped)]).toEqual([['r1 active', 'e1 active'], ['r0 retiring']]);
  });
});
