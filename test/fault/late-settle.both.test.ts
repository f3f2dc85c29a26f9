import { expect, it } from 'vitest';
import { claimDeliveries } from '../../src/mail/queue/claim.ts';
import type { DeliveryRow } from '../../src/mail/queue/index.ts';
import { createSettle } from '../../src/mail/settle/index.ts';
import { startScene } from '../rig/scene.ts';

it('an outcome that is written again after its first commit got no response does not change the next attempt', async () => {
  await using scene = await startScene({ roles: ['http'] });
  const { world } = scene.app;
  const team = await scene.team();
  const { name } = await team.domain();
  const body = { from: `a@${name}`, to: 'x@example.org', subject: 'Hello', text: 'Hi' };
  const { id } = (await scene.api('POST', '/emails', { key: team.key, body })).body as { id: string };
  const claim = async (): Promise<DeliveryRow> => {
    const request = { owner: 'this process', lane: 0, limit: 10 } as const;
    const {
      claimed: [claimed],
    } = await world.db.tx((tx) => claimDeliveries(world, tx, request));
    if (!claimed) throw new Error('nothing was due');
    return claimed.row;
  };
  const settle = createSettle(world, 'this process');
  const later = { kind: 'deferred', address: 'x@example.org', reason: 'refused_for_now', detail: 'try again' } as const;

  const first = await claim();
  await settle(first, [later]);
  scene.clock.advance(2 * 60_000);
  const second = await claim();
  await settle(first, [later]);

  const rows = await world.db.all<DeliveryRow>('select * from deliveries');
  expect(rows).toMatchObject([{ attempt: 2, lease_owner: 'this process', due_at: second.due_at }]);
  await settle(second, [
    { kind: 'delivered', address: 'x@example.org', reply: { code: 250, lines: ['ok'] }, mx: 'mx.test', tls: null },
  ]);
  expect(await scene.account(team, id)).toEqual({
    state: 'delivered',
    events: ['email.queued', 'email.sent', 'email.delivery_delayed', 'email.delivered'],
  });
});
