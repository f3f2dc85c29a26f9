import { describe, expect, it } from 'vitest';
import { startApp, type App } from '../../src/app.ts';
import { createLog } from '../../src/platform/log/index.ts';
import { driver } from '../rig/database.ts';
import { scaled } from '../rig/scale.ts';
import { startScene, type Scene } from '../rig/scene.ts';
import { mailIn, MINUTE, type Mail } from './mail.ts';

const RACES = scaled(300);
/** Ten rounds show every part of the moment once. */
const BATCH = 30;

/** Starts a second node on PostgreSQL, which claims too: there the database alone decides, and no queue of one process. */
async function otherNodes(scene: Scene): Promise<App[]> {
  if (driver !== 'pg') return [];
  const log = createLog({ level: 'error', format: 'json', write: (line) => void scene.log.push(line) });
  const { config, clock } = scene.app.world;
  const options = { config, dataDir: scene.dataDir, clock, log, version: '0.0.0-test' };
  return [await startApp({ ...options, roles: ['delivery'] })];
}

/** A batch of emails due at each second. */
async function scheduleAll(scene: Scene, mail: Mail): Promise<string[][]> {
  const startsAt = scene.clock.now() + 10 * MINUTE;
  const rounds: string[][] = [];
  for (let round = 0; round < RACES / BATCH; round++) {
    const scheduled_at = new Date(startsAt + round * 1000).toISOString();
    const body = Array.from({ length: BATCH }, (_, i) => ({
      from: `a@${mail.domain.name}`,
      // Every fourth goes to two destinations, whose rows may be claimed apart.
      to: i % 4 === 0 ? ['x@one.example', 'y@two.example'] : ['x@one.example'],
      subject: 'Later',
      text: 'It works.',
      scheduled_at,
    }));
    const sent = await scene.api('POST', '/emails/batch', { key: mail.team.key, body });
    rounds.push(sent.body.data.map((email: { id: string }) => email.id));
  }
  scene.clock.advance(startsAt - 1 - scene.clock.now());
  return rounds;
}

interface Ending {
  answer: number;
  state: string;
  /** Sorted, because ids order the events of one process only; each `delivered` with its recipients. */
  events: string[];
}

/**
 * Cancels a round while it comes due: the later the round, the more requests set out before the moment, and the sooner. Of ten
 * rounds the second is left to the dispatch until a part of it has arrived, and the early requests of the last have been answered: each
 * side comes first, however quick the other is.
 */
async function race(
  scene: Scene,
  mail: Mail,
  round: number,
  ids: string[],
  endings: Map<string, Ending>,
): Promise<void> {
  const cancel = async (id: string): Promise<void> => {
    const { status } = await scene.api('POST', `/emails/${id}/cancel`, { key: mail.team.key });
    endings.set(id, { answer: status, state: '', events: [] });
  };
  const tenths = round % 10;
  const early = ids.slice(0, (BATCH / 10) * tenths).map(cancel);
  await (tenths === 9 ? Promise.all(early) : turns(8 * tenths));
  const arrived = scene.sink.counts.accepted;
  scene.clock.advance(1000);
  const load = Array.from({ length: 5 }, () => mail.send('now@one.example'));
  // The later the round, the further the dispatch has come when the rest of the requests set out.
  if (tenths === 1) await scene.sink.waitFor(({ counts }) => counts.accepted >= arrived + 20);
  else await turns(tenths);
  await Promise.all([...early, ...ids.slice(early.length).map(cancel), ...load]);
}

async function turns(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn++) await new Promise((next) => setImmediate(next));
}

async function readEndings(scene: Scene, endings: Map<string, Ending>): Promise<void> {
  const { db } = scene.app.world;
  for (const { id, last_event } of await db.all<{ id: string; last_event: string }>(
    'select id, last_event from emails',
  )) {
    const ending = endings.get(id);
    if (ending) ending.state = last_event;
  }
  const rows = await db.all<{ subject_id: string; type: string; data: string | null }>(
    'select subject_id, type, data from events',
  );
  for (const { subject_id, type, data } of rows) {
    const { to = [] } = (data === null ? {} : JSON.parse(data)) as { to?: string[] };
    endings
      .get(subject_id)
      ?.events.push([type.replace('email.', ''), ...(type === 'email.delivered' ? to : [])].join(' '));
  }
  for (const ending of endings.values()) ending.events.sort();
}

/** Returns the recipients of each email, one entry for each time it arrived. */
function arrivals(scene: Scene): Map<string, string[]> {
  const arrived = new Map<string, string[]>();
  for (const { data, rcptTo } of scene.sink.messages) {
    const id = /^Message-ID: <([0-9a-f-]{36})@/m.exec(data.toString('latin1'))?.[1] ?? '';
    arrived.set(id, [...(arrived.get(id) ?? []), ...rcptTo]);
  }
  return arrived;
}

describe('a cancel during dispatch', () => {
  it(`wins or loses, never both or neither, in ${RACES} races under load`, async () => {
    await using scene = await startScene();
    const nodes = await otherNodes(scene);
    try {
      const mail = await mailIn(scene);
      const endings = new Map<string, Ending>();
      const rounds = await scheduleAll(scene, mail);
      for (const [round, ids] of rounds.entries()) await race(scene, mail, round, ids, endings);
      for (const node of nodes) await node.queue?.idle();
      scene.clock.advance(1000);
      await scene.settled();
      for (const node of nodes) await node.queue?.idle();
      await readEndings(scene, endings);
      const arrived = arrivals(scene);

      const wrong = [...endings].filter(([id, { answer, state, events }]) => {
        const got = arrived.get(id)?.sort() ?? [];
        if (answer === 200) return state !== 'canceled' || events.join() !== 'canceled,scheduled' || got.length > 0;
        const isWhole = ['x@one.example', 'x@one.example,y@two.example'].includes(got.join());
        const told = [...got.map((to) => `delivered ${to}`), 'scheduled', 'sent'];
        return answer !== 409 || state !== 'delivered' || events.join() !== told.join() || !isWhole;
      });
      expect(wrong).toEqual([]);
      expect(endings.size).toBe(RACES);
      const canceled = [...endings.values()].filter(({ answer }) => answer === 200).length;
      console.log(`cancel came first ${canceled} times, dispatch ${RACES - canceled} times`);
      // A race that one side always wins is none.
      expect(Math.min(canceled, RACES - canceled)).toBeGreaterThan(RACES / 50);
    } finally {
      for (const node of nodes) await node.close(0);
    }
  });
});
