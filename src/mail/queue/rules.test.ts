import { expect, it } from 'vitest';
import { createHeldAgain } from './claim.ts';
import type { ClaimedDelivery } from './rules.ts';

const delivery = (id: string, attempt = 1): ClaimedDelivery =>
  ({ row: { id, attempt }, recipients: [], decided: [] }) as unknown as ClaimedDelivery;

function holding(...ids: string[]) {
  const carried = new Set(ids.map((id) => ({ delivery: delivery(id) })));
  const undone: string[][] = [];
  const heldAgain = createHeldAgain({
    inProgress: () => [...carried],
    unclaimAllBut: async (kept) => void undone.push(kept),
  });
  return { carried, undone, heldAgain };
}
const toIds = (claimed: readonly ClaimedDelivery[]): string[] => claimed.map(({ row }) => row.id);

it('a delivery that is not in progress starts, another attempt at it too, and no claim is undone', async () => {
  const { heldAgain, undone } = holding('a');
  expect(toIds(await heldAgain.without([delivery('b'), delivery('a', 2)]))).toEqual(['b', 'a']);
  await heldAgain.releaseUnstarted();
  expect(undone).toEqual([]);
});

it('a delivery in progress does not start a second time, and its claim is undone when the first has ended', async () => {
  const { heldAgain, undone } = holding('a');
  expect(toIds(await heldAgain.without([delivery('a'), delivery('b')]))).toEqual(['b']);
  await heldAgain.releaseUnstarted();
  expect(undone).toEqual([[]]);
});

it('an interrupted delivery that is just ending starts again', async () => {
  const { heldAgain, carried, undone } = holding('a');
  const claiming = heldAgain.without([delivery('a')]);
  carried.clear();
  expect(toIds(await claiming)).toEqual(['a']);
  await heldAgain.releaseUnstarted();
  expect(undone).toEqual([]);
});
