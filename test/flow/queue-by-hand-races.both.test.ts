// Tests what an operator orders while the queue is being claimed; on PostgreSQL two nodes claim at once.
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startApp, type App } from '../../src/app.ts';
import { createLog } from '../../src/platform/log/index.ts';
import { claimDue } from '../../src/mail/queue/deliveries.store.ts';
import { retryNow, takeUntouched } from '../../src/mail/queue/index.ts';
import { driver } from '../rig/database.ts';
import { scaled } from '../rig/scale.ts';
import { startScene, type Scene } from '../rig/scene.ts';
import { HOUR, mailIn, MINUTE, type Mail } from './mail.ts';

const ROUNDS = scaled(5);
/** Twenty moments at which the word is said; fewer rounds take every so many of them. */
const STRIDE = Math.max(1, Math.floor(20 / ROUNDS));
const BATCH = 25;

let scene: Scene;
let nodes: App[];
let mail: Mail;
let token: string;
beforeAll(async () => {
  scene = await startScene();
  nodes = await otherNodes();
  mail = await mailIn(scene);
  token = await scene.operator();
});
afterAll(async () => {
  for (const node of nodes) await node.close(0);
  await scene.close();
});

async function otherNodes(): Promise<App[]> {
  if (driver !== 'pg') return [];
  const log = createLog({ level: 'error', format: 'json', write: (line) => void scene.log.push(line) });
  const { config, clock } = scene.app.world;
  return [await startApp({ config, dataDir: scene.dataDir, clock, log, version: '0.0.0-test', roles: ['delivery'] })];
}

const settled = async (): Promise<void> => {
  for (const node of nodes) await node.queue?.idle();
  await scene.settled();
  for (const node of nodes) await node.queue?.idle();
};

const say = (path: string, body?: Record<string, unknown>, method = 'POST') =>
  scene.api(method, `/operator/queue${path}`, { key: token, ...(body ? { body } : {}) });

/**
 * A batch that comes due, and a word that is said while it is claimed: in the first round before it is due, in the last when one
 * of it has arrived, so that each comes first at least once; in the others at moments around the claim.
 */
async function round(n: number, destination: string, word: () => Promise<unknown>): Promise<string[]> {
  const scheduled_at = new Date(scene.clock.now() + MINUTE).toISOString();
  const body = Array.from({ length: BATCH }, () => ({
    from: `a@${mail.domain.name}`,
    to: [`x@${destination}`],
    subject: 'Hello',
    text: 'It works.',
    scheduled_at,
  }));
  const sent = await scene.api('POST', '/emails/batch', { key: mail.team.key, body });
  scene.clock.advance(MINUTE - 1);
  const early = n % 2 === 0 && n < ROUNDS - 1 ? word() : undefined;
  if (n === 0) await early;
  else if (early) await turns(((n * STRIDE) % 20) * 5);
  const arrivedBefore = scene.sink.counts.accepted;
  scene.clock.advance(1);
  if (n === ROUNDS - 1) await scene.sink.waitFor(arrivedBefore + 1);
  else if (!early) await turns((n * STRIDE) % 12);
  await (early ?? word());
  await settled();
  return sent.body.data.map((email: { id: string }) => email.id);
}

async function turns(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn++) await new Promise((next) => setImmediate(next));
}

/** Counts how often each email arrived. */
function arrivals(): Map<string, number> {
  const arrived = new Map<string, number>();
  for (const { data } of scene.sink.messages) {
    const id = /^Message-ID: <([0-9a-f-]{36})@/m.exec(data.toString('latin1'))?.[1] ?? '';
    arrived.set(id, (arrived.get(id) ?? 0) + 1);
  }
  return arrived;
}

const listStates = async (ids: readonly string[]): Promise<Map<string, string>> => {
  const rows = await scene.app.world.db.all<{ id: string; last_event: string }>('select id, last_event from emails');
  return new Map(rows.filter(({ id }) => ids.includes(id)).map(({ id, last_event: state }) => [id, state]));
};

it('a drop during a claim makes each email arrive once or fail, never both or neither', async () => {
  const ids: string[] = [];
  let said = 0;
  for (let n = 0; n < ROUNDS; n++) {
    ids.push(
      ...(await round(n, 'drop.example', async () => {
        const answer = await say('/drop', { destination: 'drop.example', reason: 'Race' });
        expect(answer).toMatchObject({ status: 200 });
        said += answer.body.deliveries;
      })),
    );
  }
  const arrived = arrivals();
  const states = await listStates(ids);
  const wrong = ids.filter((id) => {
    const isThere = arrived.get(id) === 1 && states.get(id) === 'delivered';
    return !isThere && !(arrived.get(id) === undefined && states.get(id) === 'failed');
  });
  expect(wrong).toEqual([]);
  const dropped = [...states.values()].filter((state) => state === 'failed').length;
  expect(said).toBe(dropped);
  console.log(`drop came first ${dropped} times, the claim ${ids.length - dropped} times`);
  expect(Math.min(dropped, ids.length - dropped)).toBeGreaterThan(0);
  for (const id of ids.filter((one) => states.get(one) === 'failed').slice(0, 20)) {
    expect((await scene.events(id)).filter(({ type }) => type === 'email.failed')).toHaveLength(1);
  }
});

it('a hold during a claim keeps mail that is not in progress, which arrives once when it is released', async () => {
  const ids: string[] = [];
  let held = 0;
  for (let n = 0; n < ROUNDS; n++) {
    let hold = '';
    const some = await round(n, 'hold.example', async () => {
      hold = (await say('/holds', { destination: 'hold.example', reason: 'Race' })).body.id;
    });
    const before = arrivals();
    held += some.filter((id) => !before.has(id)).length;
    // While the hold lasts, no delivery begins.
    scene.clock.advance(HOUR);
    await settled();
    expect(some.filter((id) => arrivals().has(id))).toEqual(some.filter((id) => before.has(id)));
    await say(`/holds/${hold}`, undefined, 'DELETE');
    scene.clock.advance(1000);
    await settled();
    ids.push(...some);
  }
  const arrived = arrivals();
  expect(ids.filter((id) => arrived.get(id) !== 1)).toEqual([]);
  console.log(`hold came first ${held} times, the claim ${ids.length - held} times`);
  expect(Math.min(held, ids.length - held)).toBeGreaterThan(0);
});

it('a retry during a claim never attempts or delivers a message twice', async () => {
  const ids: string[] = [];
  for (let n = 0; n < ROUNDS; n++) {
    const retry = () => say('/retry', { destination: 'retry.example' });
    ids.push(...(await round(n, 'retry.example', async () => Promise.all([retry(), retry(), retry()]))));
  }
  const arrived = arrivals();
  expect(ids.filter((id) => arrived.get(id) !== 1)).toEqual([]);

  const deferred = await Promise.all(Array.from({ length: BATCH }, () => mail.send('tempfail@retry.example')));
  await settled();
  for (let n = 1; n < 6; n++) {
    await Promise.all([say('/retry', { destination: 'retry.example' }), say('/retry', { team_id: mail.team.id })]);
    scene.clock.advance(500);
    await settled();
  }
  const rows = await scene.app.world.db.all<{ email_id: string; attempt: number }>(
    'select email_id, attempt from delivery_attempts order by id',
  );
  for (const id of deferred) {
    const attempts = rows.filter((row) => row.email_id === id).map(({ attempt }) => attempt);
    expect(attempts).toEqual(attempts.map((_, i) => i + 1));
    expect(attempts.length).toBeGreaterThanOrEqual(6);
  }
});

it('mail that is claimed or handed off between the query and the command is not touched', async () => {
  await using quiet = await startScene({ roles: ['http'] });
  const { db } = quiet.app.world;
  const { team, send } = await mailIn(quiet);
  const emails = [await send('x@one.example'), await send('x@two.example')];
  const now = quiet.clock.now();
  const claim = { owner: 'somebody', now, leaseUntil: now + HOUR, limit: 1, lane: 0 } as const;
  const [claimed] = await db.tx((tx) => claimDue(tx, claim));
  const rows = await db.all<{ id: string }>('select id from deliveries order by id');
  await db.run('update deliveries set handed_off_at = ? where id <> ?', [now, claimed?.id ?? '']);
  const taken = await db.tx((tx) =>
    takeUntouched(
      tx,
      rows.map(({ id }) => id),
    ),
  );
  expect([rows.length, taken]).toEqual([emails.length, []]);
  expect(await retryNow(db, { kind: 'team_id', value: team.id }, now)).toBe(0);
});
