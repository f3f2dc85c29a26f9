import { expect, it } from 'vitest';
import { createYieldBetween } from './inspector.ts';

it('calls resolve one after the other, with a turn of the event loop in between', async () => {
  const yieldBetween = createYieldBetween();
  const order: string[] = [];
  const rounds = async (): Promise<void> => {
    for (let i = 0; i < 3; i++) {
      await new Promise((resolve) => setImmediate(resolve));
      order.push('other work');
    }
  };
  await Promise.all([
    rounds(),
    ...['first', 'second', 'third'].map((name) => yieldBetween().then(() => order.push(name))),
  ]);
  expect(order.filter((name) => name !== 'other work')).toEqual(['first', 'second', 'third']);
  expect(order.indexOf('third') - order.indexOf('first')).toBeGreaterThan(2);
});
