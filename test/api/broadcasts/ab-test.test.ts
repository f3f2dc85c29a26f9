import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startScene, type Scene } from '../../rig/scene.ts';
import { openDesk, said, type Desk } from './drafting.ts';

let scene: Scene;
let desk: Desk;
beforeAll(async () => {
  scene = await startScene({ roles: ['http'] });
  desk = await openDesk(scene);
});
afterAll(() => scene.close());

const AB = { subjects: ['Other'], test_percent: 20, wait_minutes: 60 };
const variant = (subject: string) => ({ subject, recipients: 0, clicked: 0 });

describe('the ab field of a broadcast', () => {
  it('can be set in a draft, changed, copied and removed', async () => {
    const id = await desk.make({ ab: { ...AB, subjects: ['Other', 'Third', 'Fourth'] } });
    expect((await desk.get(id)).ab).toEqual({
      test_percent: 20,
      wait_minutes: 60,
      winner: null,
      decided_by: null,
      decides_at: null,
      variants: [desk.draft.subject, 'Other', 'Third', 'Fourth'].map(variant),
    });
    const copy = (await desk.call('POST', `/broadcasts/${id}/duplicate`)).body.id as string;
    await desk.call('PATCH', `/broadcasts/${id}`, { ab: AB, subject: 'Own' });
    expect((await desk.get(id)).ab.variants).toEqual([variant('Own'), variant('Other')]);
    await desk.call('PATCH', `/broadcasts/${id}`, { ab: null });
    expect([(await desk.get(id)).ab, (await desk.get(copy)).ab.variants.length]).toEqual([null, 4]);
  });

  it.each<[string, object]>([
    ['no other subject', { subjects: [] }],
    ['four other subjects', { subjects: ['1', '2', '3', '4'] }],
    ['a subject of two lines', { subjects: ['a\r\nBcc: x@example.org'] }],
    ['a subject beyond 998 bytes', { subjects: ['ä'.repeat(500)] }],
    ['a subject twice', { subjects: ['A', 'A'] }],
    ['a share of 4 percent', { test_percent: 4 }],
    ['a share of 51 percent', { test_percent: 51 }],
    ['a wait of 9 minutes', { wait_minutes: 9 }],
    ['a wait of more than a day', { wait_minutes: 1441 }],
  ])('refuses %s', async (_, change) => {
    const made = await desk.call('POST', '/broadcasts', { ...desk.draft, ab: { ...AB, ...change } });
    expect(said(made)).toEqual([400, 'validation_error']);
    expect(JSON.stringify(made.body)).toContain('ab.');
  });

  it('cannot repeat the subject, even after a change of the subject', async () => {
    const same = { ...AB, subjects: [desk.draft.subject] };
    expect(said(await desk.call('POST', '/broadcasts', { ...desk.draft, ab: same }))).toEqual([
      400,
      'validation_error',
    ]);
    const id = await desk.make({ ab: AB });
    const changed = await desk.call('PATCH', `/broadcasts/${id}`, { subject: 'Other' });
    expect(said(changed)).toEqual([400, 'validation_error']);
  });

  it('cannot be combined with local_time on any route, and the error names both', async () => {
    const drafted = await desk.make({ ab: AB });
    const local = await desk.make({ local_time: true });
    for (const refused of [
      await desk.call('POST', '/broadcasts', { ...desk.draft, ab: AB, local_time: true }),
      await desk.call('PATCH', `/broadcasts/${drafted}`, { local_time: true }),
      await desk.call('PATCH', `/broadcasts/${local}`, { ab: AB }),
      await desk.call('POST', `/broadcasts/${drafted}/send`, { scheduled_at: 'in 2 hours', local_time: true }),
    ]) {
      expect(said(refused)).toEqual([422, 'validation_error']);
      expect(refused.body.errors.map(({ path }: { path: string }) => path)).toEqual(['ab', 'local_time']);
    }
    expect((await desk.get(drafted)).status).toBe('draft');
  });

  it('has the checks of a subject applied to each of its subjects', async () => {
    const id = await desk.make({ ab: { ...AB, subjects: ['Hi {{{NICK}}}'] } });
    const refused = await desk.call('POST', `/broadcasts/${id}/send`);
    expect(said(refused)).toEqual([422, 'validation_error']);
    expect(refused.body.details.checks).toMatchObject([{ name: 'variables', details: ['{{{NICK}}}'] }]);
    const blank = await desk.make({ ab: { ...AB, subjects: [' '] } });
    expect((await desk.call('POST', `/broadcasts/${blank}/send`)).body.details.checks).toMatchObject([
      { name: 'subject', status: 'fail' },
    ]);
  });

  it('makes the checklist say whether there will be clicks to decide by', async () => {
    const id = await desk.make({ ab: AB });
    const told = async () => {
      const { checks } = (await desk.call('GET', `/broadcasts/${id}/checklist`)).body;
      return (checks as { name: string }[]).filter(({ name }) => name === 'ab');
    };
    expect(await told()).toMatchObject([{ status: 'warn' }]);
    await desk.call('PATCH', `/domains/${desk.domain.id}`, { tracking_subdomain: 'links', click_tracking: true });
    expect(await told()).toMatchObject([{ status: 'pass' }]);
    const plain = await desk.make();
    expect(JSON.stringify((await desk.call('GET', `/broadcasts/${plain}/checklist`)).body)).not.toContain('"ab"');
  });
});
