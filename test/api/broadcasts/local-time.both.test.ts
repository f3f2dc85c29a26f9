import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { findBroadcast } from '../../../src/features/campaigns/broadcasts/broadcasts.store.ts';
import { startScene, type Scene } from '../../rig/scene.ts';
import { openDesk, said, type Desk } from './drafting.ts';

let scene: Scene;
beforeAll(async () => {
  scene = await startScene({ roles: ['http'], startAt: '2026-11-25T12:00:00Z' });
});
afterAll(() => scene.close());

/** Returns the local time to be shown, as the send fixed it. */
const shown = async (desk: Desk, id: string): Promise<string | undefined> => {
  const at = (await findBroadcast(scene.app.world.db, desk.team.id, id))?.local_at;
  return typeof at === 'number' ? new Date(at).toISOString() : undefined;
};

describe('the local_time field of a broadcast', () => {
  it('can be set in a draft, changed and copied', async () => {
    const desk = await openDesk(scene);
    const id = await desk.make({ local_time: true });
    expect(await desk.get(id)).toMatchObject({ local_time: true, next_at: null });
    const copy = (await desk.call('POST', `/broadcasts/${id}/duplicate`)).body.id as string;
    await desk.call('PATCH', `/broadcasts/${id}`, { subject: 'Other' });
    expect((await desk.get(id)).local_time).toBe(true);
    await desk.call('PATCH', `/broadcasts/${id}`, { local_time: false });
    expect([(await desk.get(id)).local_time, (await desk.get(copy)).local_time]).toEqual([false, true]);
  });

  it.each([
    ['2026-11-27T09:00:00+02:00', '2026-11-27T09:00:00.000Z'],
    ['2026-11-27T09:00:00-0930', '2026-11-27T09:00:00.000Z'],
    ['2026-11-27T09:00:00Z', '2026-11-27T09:00:00.000Z'],
    ['tomorrow at 9:30', '2026-11-26T09:30:00.000Z'],
  ])('with scheduled_at %s sends at %s on the clock of each contact', async (scheduled_at, local) => {
    const desk = await openDesk(scene);
    const id = await desk.make();
    expect((await desk.call('POST', `/broadcasts/${id}/send`, { scheduled_at, local_time: true })).status).toBe(200);
    expect([await shown(desk, id), (await desk.get(id)).local_time]).toEqual([local, true]);
    const made = await desk.make({ send: true, scheduled_at, local_time: true });
    expect(await shown(desk, made)).toBe(local);
    const drafted = await desk.make({ local_time: true });
    await desk.call('POST', `/broadcasts/${drafted}/send`, { scheduled_at });
    expect(await shown(desk, drafted)).toBe(local);
    const taken = await desk.make({ local_time: true });
    await desk.call('POST', `/broadcasts/${taken}/send`, { scheduled_at, local_time: false });
    expect([await shown(desk, taken), (await desk.get(taken)).local_time]).toEqual([undefined, false]);
  });

  it('is refused without scheduled_at, and the error names both', async () => {
    const desk = await openDesk(scene);
    const draft = await desk.make({ local_time: true });
    const plain = await desk.make();
    for (const refused of [
      await desk.call('POST', `/broadcasts/${draft}/send`),
      await desk.call('POST', `/broadcasts/${plain}/send`, { local_time: true }),
      await desk.call('POST', '/broadcasts', { ...desk.draft, send: true, local_time: true }),
    ]) {
      expect(said(refused)).toEqual([422, 'validation_error']);
      expect(refused.body.errors).toMatchObject([
        { path: 'local_time', message: expect.stringContaining('scheduled_at') },
      ]);
    }
    expect((await desk.get(draft)).status).toBe('draft');
    expect((await desk.call('GET', '/broadcasts')).body.data).toHaveLength(2);
    const odd = await desk.call('POST', '/broadcasts', { ...desk.draft, local_time: 'yes' });
    expect(said(odd)).toEqual([400, 'validation_error']);
  });
});

describe('the checklist of a broadcast with local_time', () => {
  const check = async (desk: Desk, id: string) =>
    (await desk.call('GET', `/broadcasts/${id}/checklist`)).body.checks.find(
      ({ name }: { name: string }) => name === 'local_time',
    );

  it('counts members with an unknown time zone, and never blocks the send', async () => {
    const desk = await openDesk(scene);
    const filter = { field: 'last_name', op: 'eq', value: 'Reader' };
    const segment = (await desk.call('POST', '/segments', { name: 'Named', filter })).body.id as string;
    const id = await desk.make({ local_time: true, segment_id: segment });
    expect(await check(desk, id)).toMatchObject({
      status: 'warn',
      details: [],
      message:
        'There is no contact property timezone of type string; all contacts get the email at the time of scheduled_at itself.',
    });
    await desk.call('POST', '/contact-properties', { key: 'timezone', type: 'string' });
    const add = (email: string, last_name: string, timezone?: string) =>
      desk.call('POST', '/contacts', { email, last_name, ...(timezone && { properties: { timezone } }) });
    await add('a@example.org', 'Reader', 'Europe/Berlin');
    await add('b@example.org', 'Reader');
    expect(await check(desk, id)).toMatchObject({ status: 'pass' });
    await add('c@example.org', 'Reader', 'Berlin');
    await add('d@example.org', 'Reader', '+02:00');
    await add('e@example.org', 'Other', 'Mars');
    expect(await check(desk, id)).toEqual({
      name: 'local_time',
      status: 'warn',
      details: ['+02:00', 'Berlin'],
      message:
        '2 members have a timezone that is not an IANA time zone; they and members without a time zone get the email at the time of scheduled_at itself.',
    });
    expect((await desk.call('POST', `/broadcasts/${id}/send`, { scheduled_at: 'in 20 hours' })).status).toBe(200);
    expect(await check(desk, await desk.make())).toBe(undefined);
  });
});
