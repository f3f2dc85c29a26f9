// The fields of a broadcast that decide who gets it: their limits, what they may name, and how a change replaces them.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startScene, type Scene } from '../../rig/scene.ts';
import { openDesk, type Desk } from './drafting.ts';

let scene: Scene;
let desk: Desk;
let second: string;
let third: string;
let scheduled: string;
const UNKNOWN = '019a9c1e-7d52-7c3a-9a54-0b8f4c1f2eff';
beforeAll(async () => {
  scene = await startScene({ roles: ['http'] });
  desk = await openDesk(scene);
  const segment = async (name: string): Promise<string> =>
    (await desk.call('POST', '/segments', { name })).body.id as string;
  second = await segment('Second');
  third = await segment('Third');
  scheduled = await desk.make({ send: true, scheduled_at: 'in 2 hours' });
});
afterAll(() => scene.close());

const create = async (change: object): Promise<string> => {
  const { status, body } = await desk.call('POST', '/broadcasts', { ...desk.draft, ...change });
  return status === 201 ? '201' : `${status} ${body.name} ${body.message}`;
};
const targetOf = async (id: string): Promise<object> => {
  const { segment_id, audience_id, segment_ids, exclude_segment_ids, not_received_from, received_but_not_opened } =
    await desk.get(id);
  return { segment_id, audience_id, segment_ids, exclude_segment_ids, not_received_from, received_but_not_opened };
};

describe('POST /broadcasts', () => {
  it.each(['segment_ids', 'exclude_segment_ids', 'not_received_from'])(
    'takes at most 20 ids in %s, and names the limit for more',
    async (field) => {
      const what = field === 'not_received_from' ? 'broadcasts' : 'segments';
      const ids = Array.from({ length: 21 }, () => scene.app.world.ids.uuid());
      const limit = `422 validation_error ${field} must be a list of at most 20 ids of ${what} or null`;
      expect(await create({ segment_id: null, [field]: ids })).toContain(limit.slice(limit.indexOf(field)));
      expect(await create({ segment_id: null, [field]: ['no id'] })).toContain(field);
    },
  );

  it('refuses what does not exist with the place in the list', async () => {
    const draft = await desk.make();
    const refused = (message: string): string => `422 invalid_parameter ${message}`;
    expect(await create({ segment_ids: [desk.segment, UNKNOWN] })).toBe(
      refused('segment_ids.1 does not match a segment of this team.'),
    );
    expect(await create({ exclude_segment_ids: [second, UNKNOWN] })).toBe(
      refused('exclude_segment_ids.1 does not match a segment of this team.'),
    );
    expect(await create({ not_received_from: [scheduled, UNKNOWN] })).toBe(
      refused('not_received_from.1 does not match a broadcast of this team.'),
    );
    expect(await create({ received_but_not_opened: UNKNOWN })).toBe(
      refused('received_but_not_opened does not match a broadcast of this team.'),
    );
    expect(await create({ not_received_from: [draft] })).toBe(
      refused(
        'not_received_from.0 is a draft, which nobody has received; name a broadcast that was sent or scheduled.',
      ),
    );
    expect(await create({ exclude_segment_ids: [second, desk.segment] })).toBe(
      refused('exclude_segment_ids.1 is also a segment that gets the broadcast; remove it from one of the two.'),
    );
    expect(await create({ segment_ids: [second] })).toContain('segment_ids does not contain segment_id');
  });

  it('does not find a segment or a broadcast of another team', async () => {
    const other = await openDesk(scene);
    const theirs = await other.make({ send: true, scheduled_at: 'in 2 hours' });
    expect(await create({ exclude_segment_ids: [other.segment] })).toContain('exclude_segment_ids.0 does not match');
    expect(await create({ not_received_from: [theirs] })).toContain('not_received_from.0 does not match');
    expect(await create({ received_but_not_opened: theirs })).toContain('received_but_not_opened does not match');
  });

  it('names the first segment in segment_id, and keeps each id once in any letter case', async () => {
    const twice = [second.toUpperCase(), third, second];
    const id = await desk.make({ segment_id: null, segment_ids: twice, exclude_segment_ids: [] });
    const empty = { exclude_segment_ids: [], not_received_from: [], received_but_not_opened: null };
    const two = { segment_id: second, audience_id: second, segment_ids: [second, third] };
    expect(await targetOf(id)).toEqual({ ...two, ...empty });
    const alone = await desk.make();
    const one = { segment_id: desk.segment, audience_id: desk.segment, segment_ids: [desk.segment] };
    expect(await targetOf(alone)).toEqual({ ...one, ...empty });
  });

  it('refuses with send a segment or an excluded segment that was deleted, in the order of the requirements', async () => {
    const gone = (await desk.call('POST', '/segments', { name: 'Gone' })).body.id as string;
    const wanted = await desk.make({ segment_ids: [desk.segment, gone] });
    const without = await desk.make({ exclude_segment_ids: [gone] });
    await desk.call('DELETE', `/segments/${gone}`);
    const send = async (id: string): Promise<string> => {
      const { status, body } = await desk.call('POST', `/broadcasts/${id}/send`);
      return `${status} ${body.message}`;
    };
    const rule = 'does not match a segment of this team; remove it, or choose another one.';
    expect(await send(wanted)).toBe(`422 segment_ids.1 ${rule}`);
    expect(await send(without)).toBe(`422 exclude_segment_ids.0 ${rule}`);
    // A change of another field leaves the deleted segment as it is.
    expect((await desk.call('PATCH', `/broadcasts/${without}`, { name: 'Other' })).status).toBe(200);
    expect((await desk.call('PATCH', `/broadcasts/${without}`, { exclude_segment_ids: null })).status).toBe(200);
    expect(await send(without)).toMatch(/^200/);
  });
});

it('a send is refused when the filters of all segments compare more than 10,000 values', async () => {
  const ids: string[] = [];
  for (let n = 0; n < 6; n++) {
    const condition = (at: number) => ({
      field: 'email',
      op: 'in',
      value: Array.from({ length: 100 }, (_, i) => `a${n}-${at}-${i}@example.org`),
    });
    const filter = { any: Array.from({ length: 20 }, (_, at) => condition(at)) };
    ids.push((await desk.call('POST', '/segments', { name: `Large ${n}`, filter })).body.id as string);
  }
  const message =
    'The filters of segment_ids and exclude_segment_ids compare 12000 values; at most 10000 are allowed. Name fewer segments.';
  const target = { segment_id: null, segment_ids: ids.slice(0, 3), exclude_segment_ids: ids.slice(3) };
  expect(await create({ ...target, send: true })).toBe(`422 validation_error ${message}`);
  expect(await create({ ...target, exclude_segment_ids: ids.slice(4), send: true })).toBe('201');
});

describe('PATCH /broadcasts/{id}', () => {
  it('replaces the lists that it names and keeps the others, and segment_id alone names the only segment', async () => {
    const id = await desk.make({ segment_ids: [desk.segment, second], not_received_from: [scheduled] });
    const change = async (fields: object): Promise<object> => {
      const { status, text } = await desk.call('PATCH', `/broadcasts/${id}`, fields);
      expect(status, text).toBe(200);
      return targetOf(id);
    };
    expect(await change({ exclude_segment_ids: [third], received_but_not_opened: scheduled })).toMatchObject({
      segment_ids: [desk.segment, second],
      exclude_segment_ids: [third],
      not_received_from: [scheduled],
      received_but_not_opened: scheduled,
    });
    expect(await change({ segment_id: second })).toMatchObject({ segment_id: second, segment_ids: [second] });
    expect(await change({ segment_id: null, segment_ids: [desk.segment, second] })).toMatchObject({
      segment_id: desk.segment,
      segment_ids: [desk.segment, second],
    });
    expect(await change({ segment_ids: null, not_received_from: null, received_but_not_opened: null })).toMatchObject({
      segment_id: null,
      segment_ids: [],
      exclude_segment_ids: [third],
      not_received_from: [],
      received_but_not_opened: null,
    });
    const { status, body } = await desk.call('PATCH', `/broadcasts/${id}`, { exclude_segment_ids: [UNKNOWN] });
    expect([status, body.name]).toEqual([422, 'invalid_parameter']);
  });
});

describe('POST /broadcasts/{id}/duplicate', () => {
  it('copies who gets it, and refuses remaining when not_received_from is full', async () => {
    const others = [second, third];
    const ids: string[] = [];
    for (let n = 0; n < 20; n++) ids.push(await desk.make({ send: true, scheduled_at: 'in 2 hours' }));
    const id = await desk.make({ exclude_segment_ids: others, not_received_from: ids, send: true });
    const copy = (await desk.call('POST', `/broadcasts/${id}/duplicate`)).body.id as string;
    expect(await targetOf(copy)).toMatchObject({ exclude_segment_ids: others, not_received_from: ids });
    await desk.call('POST', `/broadcasts/${id}/cancel`);
    const { status, body } = await desk.call('POST', `/broadcasts/${id}/duplicate`, { remaining: true });
    expect(status).toBe(400);
    expect(body.message).toContain('which has 20 already, the limit');
  });
});
