// ninety days of a new address --> each provider trusts it at its own pace and punishes it now and then --> nothing is lost
import { afterEach, expect, it } from 'vitest';
import { listWarmUpDays, putWarmUp, WARM_UPS_CHANGED } from '../../src/mail/egress/index.ts';
import { toDay } from '../../src/mail/egress/schedule.ts';
import { startScene, type Scene } from '../rig/scene.ts';
import { mailIn } from './mail.ts';

const NEW = '127.0.8.1';
const WARM = '127.0.8.2';
const HOUR = 3_600_000;
const DAYS = 90;
const DAILY = [2, 3, 4, 6];
/** The percentage of it that each provider gets, as in config/providers.toml. */
const SHARES: Record<string, number> = { google: 100, 'microsoft-consumer': 40, yahoo: 50 };
/** A message goes to each provider at each of these hours. */
const HOURS = [0, 3, 6, 9, 12, 15, 18, 21];

/** A provider that takes a number of messages a day from an address it does not know well, and more after each quiet day. */
interface Receiver {
  domain: string;
  host: string;
  reply: string;
  growth: number;
  trust: number;
  /** Days on which it trusts nobody new, whatever they did. */
  angry: readonly number[];
  today: { day: number; tried: number; refused: number };
}

const receiver = (one: Omit<Receiver, 'today'>): Receiver => ({ ...one, today: { day: -1, tried: 0, refused: 0 } });

/** The same replies as the real providers give. */
const createReceivers = (): Record<string, Receiver> => ({
  google: receiver({
    domain: 'gmail.test',
    host: 'mx.google.com',
    reply:
      '421 4.7.28 Gmail has detected an unusual rate of unsolicited mail originating from your IP address. To protect our users from spam, mail has been temporarily rate limited.',
    growth: 1.6,
    trust: 3,
    angry: [],
  }),
  'microsoft-consumer': receiver({
    domain: 'outlook.test',
    host: 'outlook-com.olc.protection.outlook.com',
    reply: `550 5.7.1 Unfortunately, messages from [${NEW}] weren't sent. Please contact your Internet service provider since part of their network is on our block list (S3150).`,
    growth: 1.4,
    trust: 1,
    angry: [20, 21, 22],
  }),
  yahoo: receiver({
    domain: 'yahoo.test',
    host: 'mta5.am0.yahoodns.net',
    reply: `421 4.7.0 [TSS04] Messages from ${NEW} temporarily deferred due to unexpected volume or user complaints - 4.16.55.1; see https://postmaster.yahooinc.com/error-codes`,
    growth: 1.5,
    trust: 1,
    angry: [40, 41],
  }),
});

/** Counts a message of the new address, and returns the refusal of a receiver that has had enough for today. */
function judge(one: Receiver, day: number): string | undefined {
  const { today } = one;
  if (today.day !== day) {
    if (today.refused > 0) one.trust = Math.max(1, one.trust * 0.7);
    else if (today.tried > 0) one.trust *= one.growth;
    one.today = { day, tried: 0, refused: 0 };
  }
  one.today.tried += 1;
  if (one.today.tried <= one.trust && !one.angry.includes(day)) return undefined;
  one.today.refused += 1;
  return one.reply;
}

let scene: Scene;
afterEach(() => scene?.close());

it('a new address is trusted by every provider within ninety days, exceeds no limit of its warm-up, and all mail arrives within a day', async () => {
  const receivers = createReceivers();
  const all = Object.entries(receivers);
  let firstDay = 0;
  const dayNow = (): number => toDay(scene.clock.now()) - firstDay;
  scene = await startScene({
    startAt: '2026-12-01T00:00:00Z',
    networkWaits: 'by hand',
    sink: {
      script(line, { peer }) {
        const domain = /^RCPT TO:<[^@]+@([^>]+)>/i.exec(line)?.[1];
        const one = all.find(([, known]) => known.domain === domain)?.[1];
        return one && peer === NEW ? judge(one, dayNow()) : undefined;
      },
    },
    config: {
      sources: { fresh: { source_v4: NEW }, warm: { source_v4: WARM } },
      pools: { main: { sources: ['fresh:100', 'warm'] } },
      warm_up: { daily: DAILY, hours: 8, idle_days: 30 },
      // The receivers of the rehearsal have no certificates.
      providers: { google: { tls: 'opportunistic' } },
    },
  });
  firstDay = toDay(scene.clock.now());
  for (const [, { domain, host }] of all) {
    scene.dns.set(domain, 'MX', [`10 ${host}`]);
    scene.dns.set(host, 'A', ['127.0.0.1']);
  }
  await putWarmUp(scene.app.world.db, { source: 'fresh', state: 'warming', now: scene.clock.now() });
  scene.app.world.db.announce(WARM_UPS_CHANGED);
  await scene.restart();
  const { db } = scene.app.world;
  const mail = await mailIn(scene);

  const days: { day: number; provider: string; level: number; limit: number; tried: number }[] = [];
  for (let day = 0; day < DAYS; day++) {
    for (const hour of HOURS) {
      for (const [, { domain }] of all) await mail.send(`x${day}-${hour}@${domain}`);
      await scene.settled();
      scene.clock.advance(3 * HOUR - 1000);
      await scene.settled();
      if (hour !== HOURS.at(-1)) scene.clock.advance(1000);
    }
    for (const { provider, level } of await listWarmUpDays(db, 'fresh')) {
      const { today } = receivers[provider] ?? {};
      // After the schedule, the mail of a day has no limit.
      const limit =
        level >= DAILY.length
          ? Infinity
          : Math.max(1, Math.round(((DAILY[level] ?? 0) * (SHARES[provider] ?? 100)) / 100));
      days.push({
        day,
        provider,
        level,
        limit,
        tried: today?.day === day ? today.tried : 0,
      });
    }
    scene.clock.advance(1000);
  }
  expect(days).toHaveLength(3 * DAYS);
  expect(days.filter(({ tried, limit }) => tried > limit)).toEqual([]);
  const emails = await db.all('select last_event, count(*) as count from emails group by last_event', []);
  expect(emails).toEqual([{ last_event: 'delivered', count: 3 * DAYS * HOURS.length }]);
  const [latest] = await db.all<{ hours: number }>(
    `select max(e.created_at - m.created_at) / 3600000 as hours from events e join emails m on m.id = e.subject_id
      where e.type = 'email.delivered'`,
    [],
  );
  expect(Number(latest?.hours)).toBeLessThan(24);
  const counts = Map.groupBy(scene.sink.messages, ({ peer }) => peer);
  expect([...counts.keys()].toSorted()).toEqual([NEW, WARM]);
  for (const [provider, { angry }] of all) {
    const levels = days.filter((one) => one.provider === provider).map(({ level }) => level);
    for (const day of angry.slice(0, 1))
      expect(levels[day + 1], `${provider} has a lower limit after a bad day`).toBeLessThan(levels[day] ?? 0);
    expect(levels.slice(-10), `${provider} has no limit at the end`).toEqual(Array(10).fill(DAILY.length));
  }
}, 600_000);
