import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { administerTeam } from '../../src/tenancy/teams/index.ts';
import { histories } from '../rig/scale.ts';
import { startScene, type Scene } from '../rig/scene.ts';
import { startSink, type Sink } from '../rig/sink.ts';
import { DAY, removeExpired, traces } from './expiry.ts';
import { HOUR, mailIn, listMessages, MINUTE, SECOND, type Mail } from './mail.ts';

const RUNS = histories(1);

/** How the sink treats mail of each kind: accepted, deferred for ever, refused, or left in doubt. */
const KINDS = ['ok', 'tempfail', 'permfail', 'drop-after-dot', 'tempfail-once'] as const;

type Step =
  | { do: 'send'; kind: (typeof KINDS)[number]; inMs: number | null }
  | { do: 'cancel' | 'remove' | 'restart' }
  | { do: 'wait'; ms: number };

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({ do: fc.constant('send' as const), kind: fc.constantFrom(...KINDS), inMs: times() }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('cancel' as const) }) },
  { weight: 4, arbitrary: fc.record({ do: fc.constant('remove' as const) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('restart' as const) }) },
  {
    weight: 5,
    arbitrary: fc.record({
      do: fc.constant('wait' as const),
      ms: fc.constantFrom(SECOND, HOUR, 12 * HOUR, DAY, DAY + 1, 3 * DAY, 29 * DAY),
    }),
  },
);

function times(): fc.Arbitrary<number | null> {
  return fc.constantFrom(null, null, 2 * MINUTE, HOUR, DAY, 7 * DAY, 30 * DAY);
}

interface Known {
  id: string;
  last_event: string;
  /** The time from which its age counts. */
  from: number;
  isWaiting: boolean;
}

describe('any order of sends, waits, cancellations, restarts and removals', () => {
  let scene: Scene;
  /** A mail server that breaks off defers others' mail to its address as well; so it has one of its own. */
  let breaking: Sink;
  beforeAll(async () => {
    scene = await startScene({ config: { plans: { short: { name: 'Short', retention_days: 1 } } } });
    breaking = await startSink({ host: '127.0.0.2', port: scene.sink.port });
    scene.dns.set('breaking.example', 'MX', ['10 mx.breaking.example']);
    scene.dns.set('mx.breaking.example', 'A', ['127.0.0.2']);
  });
  afterAll(async () => {
    await scene.close();
    await breaking.close();
  });

  /** Returns the emails before a removal; what may be removed follows from nothing but this. */
  async function known(teamId: string): Promise<Known[]> {
    const rows = await scene.app.world.db.all<{
      id: string;
      last_event: string;
      created_at: number;
      scheduled_at: number | null;
      waiting: number;
    }>(
      `select id, last_event, created_at, scheduled_at,
        (select count(*) from deliveries where email_id = emails.id) as waiting from emails where team_id = ?`,
      [teamId],
    );
    return rows.map((row) => ({
      id: row.id,
      last_event: row.last_event,
      from: row.last_event === 'canceled' ? row.created_at : Math.max(row.created_at, row.scheduled_at ?? 0),
      isWaiting: Number(row.waiting) > 0,
    }));
  }

  async function removeAndCheck(mail: Mail): Promise<void> {
    const before = await known(mail.team.id);
    await removeExpired(scene);
    const left = new Set((await known(mail.team.id)).map((email) => email.id));
    const edge = scene.clock.now() - DAY;
    const expected = before.filter((email) => email.isWaiting || email.from >= edge);
    expect([...left].sort()).toEqual(expected.map((email) => email.id).sort());
    const gone = before.filter((email) => !left.has(email.id)).map((email) => email.id);
    expect(Object.values(await traces(scene, gone)).every((count) => count === 0)).toBe(true);
    for (const { id } of expected) {
      expect((await scene.api('GET', `/emails/${id}`, { key: mail.team.key })).status).toBe(200);
    }
  }

  async function take(mail: Mail, ids: Map<string, string>, canceled: Set<string>, now: Step): Promise<void> {
    if (now.do === 'send') {
      const domain = now.kind === 'drop-after-dot' ? 'breaking' : `d${ids.size % 3}`;
      const to = `${now.kind}+${ids.size}@${domain}.example`;
      const more = now.inMs === null ? {} : { scheduled_at: new Date(scene.clock.now() + now.inMs).toISOString() };
      ids.set(await mail.send(to, more), now.kind);
    } else if (now.do === 'wait') {
      scene.clock.advance(now.ms);
      await scene.settled();
    } else if (now.do === 'cancel') {
      const last = [...ids.keys()].at(-1);
      if (last === undefined) return;
      const { status } = await scene.api('POST', `/emails/${last}/cancel`, { key: mail.team.key });
      if (status === 200) canceled.add(last);
    } else if (now.do === 'restart') {
      scene.clock.advance(1);
      await scene.restart();
    } else await removeAndCheck(mail);
  }

  it('removes exactly what is finished and old enough, and everything else is sent once', async () => {
    const property = fc.asyncProperty(fc.array(step, { minLength: 10, maxLength: 40, size: 'max' }), async (steps) => {
      const mail = await mailIn(scene);
      await administerTeam(scene.app.world, mail.team.id, { plan: 'short' });
      const ids = new Map<string, string>();
      const canceled = new Set<string>();
      for (const now of steps) await take(mail, ids, canceled, now);
      // This is far enough for the last retry of what was scheduled last, or until nothing is left.
      for (let days = 0; days < 36 && (await known(mail.team.id)).length > 0; days++) {
        scene.clock.advance(DAY);
        await scene.settled();
        if (days % 5 === 0) await removeAndCheck(mail);
      }
      await removeAndCheck(mail);
      expect(await known(mail.team.id)).toEqual([]);
      for (const [id, kind] of ids) {
        const arrived = listMessages(scene, id).length + listMessages({ sink: breaking }, id).length;
        // A deferred email is given up when the next poll comes days later.
        if (kind === 'tempfail-once') expect(arrived).toBeLessThanOrEqual(1);
        else expect([kind, arrived]).toEqual([kind, kind === 'ok' && !canceled.has(id) ? 1 : 0]);
      }
    });
    await fc.assert(property, { numRuns: RUNS, endOnFailure: true, verbose: 1 });
  });
});
