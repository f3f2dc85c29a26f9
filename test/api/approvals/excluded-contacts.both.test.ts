// A contact that a segment, topic or event leaves out of a broadcast gets it once that is gone. To an app, this is the same as
// adding recipients.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startAppScene, type AppScene } from './app-scene.ts';

let stage: AppScene;
beforeAll(async () => {
  stage = await startAppScene();
});
afterAll(() => stage.close());

type Limits = Readonly<Record<string, string>>;
const tokenFor = async (limits: Limits): Promise<string> =>
  stage.tokenFor(limits, { person: await stage.people.person({ team: stage.desk.team, role: 'owner' }) });
const said = ({ status, body }: { status: number; body: { message?: string } }): string =>
  status < 300 ? `${status}` : `${status} ${body.message}`;
const WAITS = /^403 Nothing has been done yet/;

let made = 0;
const create = async (path: string, body: object): Promise<string> => {
  const answer = await stage.desk.call('POST', path, body);
  expect(answer.status, answer.text).toBeLessThan(300);
  return answer.body.id as string;
};
const segment = (filter?: object): Promise<string> =>
  create('/segments', { name: `Excluded ${++made}`, ...(filter && { filter }) });
const contact = async (more: object): Promise<string> => {
  const email = `excluded${++made}@example.org`;
  await create('/contacts', { email, ...more });
  return email;
};

/** Each way in which the one member of a segment is left out of a broadcast; `remove` ends it. */
const EXCLUSIONS: [title: string, exclude: (readers: string) => Promise<{ excluded: string; remove: string }>][] = [
  [
    'remove a contact from an excluded segment',
    async (readers) => {
      const excluded = await segment();
      const email = await contact({ segments: [{ id: readers }, { id: excluded }] });
      return { excluded, remove: `/contacts/${email}/segments/${excluded}` };
    },
  ],
  [
    'delete a segment that an excluded one names',
    async (readers) => {
      const inner = await segment();
      await contact({ segments: [{ id: readers }, { id: inner }] });
      return { excluded: await segment({ any: [{ segment: inner }] }), remove: `/segments/${inner}` };
    },
  ],
  [
    'delete a topic that an excluded segment names',
    async (readers) => {
      const topic = await create('/topics', { name: `Topic ${++made}`, default_subscription: 'opt_out' });
      await contact({ segments: [{ id: readers }], topics: [{ id: topic, subscription: 'opt_in' }] });
      const excluded = await segment({ all: [{ topic, subscription: 'opt_in' }] });
      return { excluded, remove: `/topics/${topic}` };
    },
  ],
  [
    'delete an event that an excluded segment names',
    async (readers) => {
      const event = `bought_${++made}`;
      await create('/events', { name: event });
      const email = await contact({ segments: [{ id: readers }] });
      await create('/events/send', { event, email });
      return { excluded: await segment({ all: [{ event }] }), remove: `/events/${event}` };
    },
  ],
];

const LIMITS: [name: string, limits: Limits, refusal: RegExp][] = [
  ['own_domains', { approval: 'none', own_domains: 'yes' }, /^403 .*limited by recipients/],
  ['emails_per_day', { approval: 'none', emails_per_day: '1' }, /^403 .*limited by emails_per_day/],
  ['approval: sends', { approval: 'sends' }, WAITS],
];

/** Makes a broadcast of a person that goes to nobody, because its only reader is left out. */
async function broadcastToNobody(exclude: (typeof EXCLUSIONS)[number][1]) {
  const readers = await segment();
  const { excluded, remove } = await exclude(readers);
  const id = await stage.desk.make({ segment_id: readers, exclude_segment_ids: [excluded] });
  const countReached = async (): Promise<number> =>
    (await stage.desk.call('GET', `/broadcasts/${id}/checklist`)).body.audience.recipients as number;
  expect(await countReached()).toBe(0);
  return { remove, countReached };
}

describe.each(EXCLUSIONS)('an app would %s', (title, exclude) => {
  it.each(LIMITS)(`an app that is limited to %s cannot ${title}`, async (_name, limits, refusal) => {
    const { remove, countReached } = await broadcastToNobody(exclude);
    expect(said(await stage.call(await tokenFor(limits), 'DELETE', remove))).toMatch(refusal);
    expect(await countReached()).toBe(0);
  });

  it(`an app whose broadcasts need approval cannot ${title} for more contacts than it may mail`, async () => {
    const { remove, countReached } = await broadcastToNobody(exclude);
    const token = await tokenFor({ approval: 'broadcasts', approval_above: '1' });
    const email = `excluded${++made}@example.org`;
    expect(said(await stage.call(token, 'POST', '/contacts', { email }))).toBe('201');
    expect(said(await stage.call(token, 'DELETE', remove))).toMatch(WAITS);
    expect(await countReached()).toBe(0);
  });

  it(`an app without limits may ${title}, after which the broadcast reaches the contact`, async () => {
    const { remove, countReached } = await broadcastToNobody(exclude);
    expect(said(await stage.call(await tokenFor({ approval: 'none' }), 'DELETE', remove))).toBe('200');
    expect(await countReached()).toBe(1);
  });
});

describe('an app would declare an event again whose deletion has emptied a segment', () => {
  /** Makes a broadcast of a person to those who lack an event, which was deleted then. */
  async function broadcastWithoutEvent() {
    const event = `left_${++made}`;
    await create('/events', { name: event });
    await contact({});
    const readers = await segment({ not: [{ event }] });
    const id = await stage.desk.make({ segment_id: readers });
    const countReached = async (): Promise<number> =>
      (await stage.desk.call('GET', `/broadcasts/${id}/checklist`)).body.audience.recipients as number;
    expect((await stage.desk.call('DELETE', `/events/${event}`)).status).toBe(200);
    expect(await countReached()).toBe(0);
    return { event, countReached };
  }

  it.each([...LIMITS, ['approval: broadcasts', { approval: 'broadcasts' }, WAITS] as const])(
    'an app that is limited to %s cannot declare a deleted event again, which would fill the segment',
    async (_name, limits, refusal) => {
      const { event, countReached } = await broadcastWithoutEvent();
      expect(said(await stage.call(await tokenFor(limits), 'POST', '/events', { name: event }))).toMatch(refusal);
      expect(await countReached()).toBe(0);
    },
  );

  it('an app without limits may declare a deleted event again, which fills the segment', async () => {
    const { event, countReached } = await broadcastWithoutEvent();
    expect(said(await stage.call(await tokenFor({ approval: 'none' }), 'POST', '/events', { name: event }))).toBe(
      '201',
    );
    expect(await countReached()).toBeGreaterThan(0);
  });
});
