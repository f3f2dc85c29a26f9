import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startScene, type Scene } from '../../rig/scene.ts';
import { openDesk, said, type Desk } from './drafting.ts';

let scene: Scene;
beforeAll(async () => {
  scene = await startScene({ roles: ['http'] });
});
afterAll(() => scene.close());

describe('POST /broadcasts with an Idempotency-Key', () => {
  const post = (desk: Desk, body: object, key: string) =>
    scene.api('POST', '/broadcasts', { key: desk.team.key, body, headers: { 'idempotency-key': key } });
  const howMany = async (desk: Desk) => (await desk.call('GET', '/broadcasts')).body.data.length as number;

  it('creates and sends the broadcast once, even when requests arrive at once', async () => {
    const desk = await openDesk(scene);
    const body = { ...desk.draft, send: true };
    const first = await post(desk, body, 'november');
    expect(first.status).toBe(201);
    const again = await post(desk, body, 'november');
    expect([again.status, again.body]).toEqual([201, first.body]);
    const both = await Promise.all([post(desk, body, 'december'), post(desk, body, 'december')]);
    expect(both.map(({ status }) => status).toSorted()).toSatisfy((said: number[]) =>
      [[201, 201].join(), [201, 409].join()].includes(said.join()),
    );
    expect(await howMany(desk)).toBe(2);
  });

  it('refuses another request with the same key, and does not store refusals', async () => {
    const desk = await openDesk(scene);
    const refused = await post(desk, { ...desk.draft, from: 'News <news@elsewhere.example>', send: true }, 'once');
    expect(refused.status).toBeGreaterThanOrEqual(400);
    expect((await post(desk, { ...desk.draft, send: true }, 'once')).status).toBe(201);
    expect(said(await post(desk, desk.draft, 'once'))).toEqual([409, 'invalid_idempotent_request']);
    expect(said(await post(desk, desk.draft, 'x'.repeat(257)))).toEqual([400, 'invalid_idempotency_key']);
    expect(await howMany(desk)).toBe(1);
  });
});
