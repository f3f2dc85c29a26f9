import { randomUUID } from 'node:crypto';
import { rmSync } from 'node:fs';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { openWorld } from '../../../src/open-world.ts';
import { isByMachine, recordEvents, type NewEvent } from '../../../src/mail/events/index.ts';
import type { World } from '../../../src/platform/world.ts';
import { nodeFolder } from '../../rig/node-folder.ts';
import { madeUp } from '../../rig/events.ts';
import { driver } from '../../rig/database.ts';
import { startScene, type Scene, type Team } from '../../rig/scene.ts';
import { dice, testSeed } from '../../rig/seed.ts';

const QUARTER = 900_000;
const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const TYPES = [
  'queued',
  'scheduled',
  'sent',
  'delivery_delayed',
  'delivered',
  'opened',
  'clicked',
  'unsubscribed',
] as const;
const TROUBLES = ['bounced', 'complained', 'failed', 'suppressed', 'canceled'] as const;
const BOUNCES = ['Transient', 'Permanent', 'Undetermined'] as const;
const ZONES = ['UTC', 'Europe/Berlin', 'Asia/Kolkata', 'Asia/Kathmandu', 'America/New_York', 'Australia/Lord_Howe'];

let roll: () => number;
beforeEach(() => {
  roll = dice(testSeed());
});
/** Returns a whole number below `max`. */
const below = (max: number): number => Math.floor(roll() * max);
const oneOf = <T>(list: readonly T[]): T => list[below(list.length)] as T;

let scene: Scene;
beforeAll(async () => {
  scene = await startScene({ roles: ['http'] });
});
afterAll(() => scene.close());

type Event = NewEvent & { domainId: string };

interface Email {
  id: string;
  domainId: string;
  broadcastId?: string;
}

/** Creates emails in the database, with their events in order of time. */
async function history(
  team: Team,
  emailCount: number,
  eventCount: number,
): Promise<{ emails: Email[]; events: Event[] }> {
  const domains = [(await team.domain()).id, (await team.domain()).id, randomUUID()];
  const broadcasts = [randomUUID(), randomUUID()];
  const emails: Email[] = [];
  for (let n = 0; n < emailCount; n++) {
    const email = { id: scene.app.world.ids.uuid(), domainId: oneOf(domains) };
    emails.push(n % 3 === 0 ? { ...email, broadcastId: oneOf(broadcasts) } : email);
  }
  await insertEmails(team, emails);
  const now = scene.clock.now();
  const times = Array.from({ length: eventCount }, () => now - below(12 * DAY)).sort((a, b) => a - b);
  const events = times.map((at): Event => {
    const { id, ...email } = oneOf(emails);
    const type = `email.${below(4) === 0 ? oneOf(TROUBLES) : oneOf(TYPES)}` as const;
    const isReading = type === 'email.opened' || type === 'email.clicked';
    const data =
      type === 'email.bounced'
        ? { data: { bounce: { type: oneOf(BOUNCES) } } }
        : isReading && below(2) === 0
          ? { data: { machine: true } }
          : {};
    return { ...madeUp({ teamId: team.id, subjectId: id, type, at, ...data }), ...email };
  });
  return { emails, events };
}

const insertEmails = (team: Team, emails: readonly Email[]) =>
  scene.app.world.db.insertMany(
    'emails',
    ['id', 'team_id', 'domain_id', 'sender', 'to_list', 'subject', 'message_id', 'attachment_count', 'last_event', 'created_at', 'search_text'],
    emails.map(({ id, domainId }) => [id, team.id, domainId, 'a@b.c', '[]', 's', `<${id}>`, 0, 'sent', scene.clock.now(), 's']),
  ); // oxfmt-ignore

/** Writes them as the program would, in groups of any size, some of them marked as first. */
async function record(world: World, events: readonly Event[]): Promise<void> {
  const seen = new Set<string>();
  const known = events.map((event) => {
    // Only events of people are ever marked as first.
    if (isByMachine(event)) return event;
    const name = `${event.subjectId} ${event.type.replace('scheduled', 'queued')}`;
    const isFirst = !seen.has(name) && below(2) === 0;
    seen.add(name);
    return isFirst ? { ...event, isFirst } : event;
  });
  for (let from = 0; from < known.length;) {
    const end = from + 1 + below(39);
    const group = known.slice(from, end);
    await world.db.tx((tx) => recordEvents(tx, world.ids, group));
    from = end;
  }
}

/** Computes the same counts the slow way, one event of an email at a time. */
function naive(
  events: readonly Event[],
  formatKey: (event: Event) => string | undefined,
): Record<string, Record<string, number>> {
  const rows: Record<string, Record<string, number>> = {};
  const seen = new Set<string>();
  const add = (event: Event, metric: string, once = true): void => {
    const name = `${event.subjectId} ${metric}`;
    if (once && seen.has(name)) return;
    seen.add(name);
    const key = formatKey(event);
    if (key === undefined) return;
    const row = (rows[key] ??= {});
    row[metric] = (row[metric] ?? 0) + 1;
  };
  for (const event of events) {
    const kind = event.type.slice('email.'.length);
    if (kind === 'queued' || kind === 'scheduled') add(event, 'received');
    else if (isByMachine(event)) add(event, `machine_${kind}`, false);
    else if (kind === 'opened' || kind === 'clicked') {
      add(event, kind, false);
      add(event, `unique_${kind}`);
    } else if (kind !== 'canceled') add(event, kind);
    if (event.type === 'email.bounced') add(event, `bounced_${event.data.bounce.type.toLowerCase()}`);
  }
  return rows;
}

function nameOfPeriod(at: number, granularity: string, zone: string): string {
  const parts = new Intl.DateTimeFormat('en-CA', {
    timeZone: zone,
    dateStyle: 'short',
    timeStyle: 'medium',
    hourCycle: 'h23',
  });
  const [date = '', time = ''] = parts.format(at).split(', ');
  const [, minutes = 0, seconds = 0] = time.split(':').map(Number);
  if (granularity === 'hourly') {
    return new Date(at - (at % 1000) - (minutes * 60 + seconds) * 1000).toISOString();
  }
  if (granularity === 'daily') return date;
  if (granularity === 'monthly') return `${date.slice(0, 8)}01`;
  const day = new Date(`${date}T00:00Z`);
  return new Date(day.getTime() - ((day.getUTCDay() + 6) % 7) * DAY).toISOString().slice(0, 10);
}

const COUNTS =
  'received,delivered,complained,suppressed,bounced,bounced_transient,bounced_permanent,bounced_undetermined,opened,clicked,unsubscribed,delivery_delayed,failed,sent,unique_opened,unique_clicked,machine_opened,machine_clicked';

async function ask(team: Team, query: Record<string, string>) {
  const search = new URLSearchParams({ metrics: COUNTS, ...query }).toString();
  const answer = await scene.api('GET', `/emails/metrics?${search}`, { key: team.key });
  expect(answer.status, answer.text).toBe(200);
  return answer.body;
}

const withoutZeros = (row: Record<string, unknown>) =>
  Object.fromEntries(Object.entries(row).filter(([, n]) => n !== 0));

/** Returns rows by their dimensions, without empty ones. */
function byKey(rows: Record<string, unknown>[], names: readonly string[]): Record<string, unknown> {
  const filled = rows.map((row) => {
    const { period, domain_id, domain_name, email_id, broadcast_id, ...counts } = row;
    const ids: Record<string, unknown> = { period, domain: domain_id, email: email_id, broadcast: broadcast_id };
    void domain_name;
    return [names.map((name) => ids[name]).join(' '), withoutZeros(counts)] as const;
  });
  return Object.fromEntries(filled.filter(([, counts]) => Object.keys(counts).length > 0));
}

describe('metrics equal a count of the events', () => {
  it('in every time zone and granularity, by every dimension and filter, for two teams at once', async () => {
    const teams = [await scene.team(), await scene.team()];
    const histories = [];
    for (const team of teams) histories.push(await history(team, 40, 600));
    // The groups of both teams alternate.
    await Promise.all(histories.map(({ events }) => record(scene.app.world, events)));
    for (const [i, team] of teams.entries()) {
      const { emails, events } = histories[i] ?? { emails: [], events: [] };
      for (let round = 0; round < 40; round++) await compare(team, emails, events);
    }
  });
});

async function compare(team: Team, emails: readonly Email[], events: readonly Event[]): Promise<void> {
  const now = scene.clock.now();
  const [start, end] = [now - below(13 * DAY), now - below(13 * DAY)].sort((a, b) => a - b) as [number, number];
  const zone = oneOf(ZONES);
  const granularity = oneOf(['hourly', 'daily', 'weekly', 'monthly']);
  const isIn = ({ at }: Event): boolean =>
    at >= Math.floor(start / QUARTER) * QUARTER && at < Math.ceil(end / QUARTER) * QUARTER;
  const query = {
    start_date: new Date(start).toISOString(),
    end_date: new Date(end).toISOString(),
    timezone: zone,
    granularity,
  };
  const domainIds = [...new Set(emails.slice(0, 1 + below(2)).map(({ domainId }) => domainId))];
  const broadcastId = oneOf(emails.filter(({ broadcastId: id }) => id)).broadcastId ?? '';
  const emailIds = [oneOf(emails).id, oneOf(emails).id];
  const filters: [Record<string, string>, (event: Event) => boolean][] = [
    [{}, () => true],
    [{ domain_id: domainIds.join(',') }, (event) => domainIds.includes(event.domainId)],
    [{ broadcast_id: broadcastId }, (event) => event.broadcastId === broadcastId],
    [{ broadcast_id: broadcastId, domain_id: domainIds.join(',') },
      (event) => event.broadcastId === broadcastId && domainIds.includes(event.domainId)],
    [{ email_id: emailIds.join(',') }, (event) => emailIds.includes(event.subjectId)],
  ]; // oxfmt-ignore
  const [filter, isWanted] = oneOf(filters);
  const isOfEmails = 'email_id' in filter;
  const dimensions = oneOf([
    ['period'],
    ['domain'],
    ['period', 'domain'],
    [isOfEmails ? 'email' : 'broadcast', 'domain'],
  ]);
  // Hours of many domains over many days exceed the limit of an answer.
  if (granularity === 'hourly' && dimensions.length > 1 && dimensions.includes('period')) return;
  const formatKey = (event: Event): string | undefined => {
    if (!isIn(event) || !isWanted(event)) return undefined;
    if (dimensions.includes('broadcast') && event.broadcastId === undefined) return undefined;
    const parts: Record<string, string | undefined> = {
      period: nameOfPeriod(event.at, granularity, zone),
      domain: event.domainId,
      email: event.subjectId,
      broadcast: event.broadcastId,
    };
    return dimensions.map((dimension) => parts[dimension]).join(' ');
  };
  const body = await ask(team, { ...query, ...filter, dimensions: dimensions.join(',') });
  const told = JSON.stringify({ query, filter: Object.keys(filter), dimensions });
  expect(byKey(body.data, dimensions), told).toEqual(naive(events, formatKey));
  const all = naive(events, (event) => (isIn(event) && isWanted(event) ? 'all' : undefined));
  expect(withoutZeros(body.totals), told).toEqual(all.all ?? {});
}

describe('metrics with concurrent commits', () => {
  it('lose no count and count nothing twice, on two nodes if there are two', async () => {
    const team = await scene.team();
    const { world } = scene.app;
    const dataDir = nodeFolder(world);
    const other =
      driver === 'pg' ? await openWorld({ config: world.config, dataDir, clock: scene.clock, log: world.log }) : world;
    try {
      const domainId = randomUUID();
      const at = scene.clock.now();
      const subjects = Array.from({ length: 30 }, () => world.ids.uuid());
      // Each email is delivered and opened at several destinations, each in a commit of its own.
      const writes = [world, other, world, other].flatMap((node, copy) =>
        subjects.map((subjectId) => async (): Promise<void> => {
          const event = { teamId: team.id, subjectId, domainId, at };
          const kinds = ['email.delivered', 'email.opened'] as const;
          const events = (copy % 2 === 0 ? kinds : kinds.toReversed()).map((type) => madeUp({ ...event, type }));
          await node.db.tx((tx) => recordEvents(tx, node.ids, events));
        }),
      );
      await Promise.all(writes.map((write) => write()));
      for (const filter of [{}, { domain_id: domainId }] as Record<string, string>[]) {
        expect(withoutZeros((await ask(team, filter)).totals)).toEqual({
          delivered: 30,
          opened: 120,
          unique_opened: 30,
        });
      }
    } finally {
      if (other !== world) await other.db.close();
      rmSync(dataDir, { recursive: true, force: true });
    }
  });

  it('do not count a commit that fails', async () => {
    const team = await scene.team();
    const { world } = scene.app;
    const event = { teamId: team.id, subjectId: world.ids.uuid(), domainId: randomUUID(), at: scene.clock.now() };
    const failing = world.db.tx(async (tx) => {
      await recordEvents(tx, world.ids, [{ ...event, type: 'email.sent' }]);
      throw new Error('the disk is gone');
    });
    await expect(failing).rejects.toThrow('the disk is gone');
    expect(withoutZeros((await ask(team, {})).totals)).toEqual({});
  });
});
