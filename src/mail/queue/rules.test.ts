import { expect, it } from 'vitest';
import { createHeldAgain } from './claim.ts';
import type { ClaimedDelivery } from './rules.ts';

const delivery = (id: string, attempt = 1): ClaimedDelivery =>
  ({ row: { id, attempt }, recipients: [], decided: [] }) as unknown as ClaimedDelivery;

function holding(...ids: string[]) {
  const carried = new Set(ids.map((id) => ({ delivery: delivery(id) })));
  const undone: string[][] = [];
  const heldAgain = createHeldAgain({
    carried: () => [...carried],
    unclaimAllBut: async (kept) => void undone.push(kept),
  });
  return { carried, undone, heldAgain };
}
const idsOf = (claimed: readonly ClaimedDelivery[]): string[] => claimed.map(({ row }) => row.id);

it('what is not carried begins, another attempt at the same delivery too, and nothing is given back', async () => {
  const { heldAgain, undone } = holding('a');
  expect(idsOf(await heldAgain.without([delivery('b'), delivery('a', 2)]))).toEqual(['b', 'a']);
  await heldAgain.giveBack();
  expect(undone).toEqual([]);
});

it('what is carried does not begin a second time, and is given back when nothing is carried any more', async () => {
  const { heldAgain, undone } = holding('a');
  expect(idsOf(await heldAgain.without([delivery('a'), delivery('b')]))).toEqual(['b']);
  await heldAgain.giveBack();
  expect(undone).toEqual([[]]);
});

it('what was interrupted and leaves at this moment begins again', async () => {
  const { heldAgain, carried, undone } = holding('a');
  const claiming = heldAgain.without([delivery('a')]);
  carried.clear();
  expect(idsOf(await claiming)).toEqual(['a']);
  await heldAgain.giveBack();
  expect(undone).toEqual([]);
});
