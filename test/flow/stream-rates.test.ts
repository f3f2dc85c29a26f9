// bounces and complaints --> the rates of a team's streams over 24 hours --> findings
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { addStreamCounts, streamsBeyond, type StreamCount } from '../../src/mail/stream-rates/index.ts';
import { supply } from '../api/automations/graph.ts';
import { bringMail } from '../rig/mx.ts';
import { explainQueries, rowsRead } from '../rig/plans.ts';
import { startScene, type Scene, type Team } from '../rig/scene.ts';
import { desk, mail as mailStep } from './automations-desk.ts';
import { HOUR, mailIn, type Mail } from './mail.ts';

const HOST = 'mail.rates.example';

interface Told {
  code: string;
  severity: string;
  summary: string;
  subjects: string[];
}

/** Reads the findings about rates that a team is told. */
async function readRates(scene: Scene, team: Team): Promise<Told[]> {
  const { body } = await scene.api('GET', '/findings', { key: team.key });
  return (body.findings as Told[]).filter(({ code }) => code.endsWith('_rate_high'));
}

async function sendAll(scene: Scene, mail: Mail, addresses: readonly string[]): Promise<void> {
  for (const address of addresses) await mail.send(address);
  await scene.settled();
}

const many = (count: number, name: string, domain: string): string[] =>
  Array.from({ length: count }, (_, i) => `${name}${i}@${domain}`);

describe('the rates of streams with low minimums', () => {
  let scene: Scene;
  beforeAll(async () => {
    const script = (command: string): string | undefined =>
      command.startsWith('RCPT') && command.includes('@bad.example') ? '550 5.1.1 No such user' : undefined;
    scene = await startScene({
      sink: { script },
      roles: ['http', 'delivery', 'receiving'],
      config: { broadcasts: { hold_after: 10, hold_complaint_after: 10 }, instance: { host: HOST } },
    });
  });
  afterAll(() => scene.close());

  it('make transactional mail that bounces a finding of its team and the operator for 24 hours', async () => {
    const mail = await mailIn(scene);
    await sendAll(scene, mail, [...many(6, 'good', 'one.example'), ...many(3, 'gone', 'bad.example')]);
    expect(await readRates(scene, mail.team)).toEqual([]);
    await sendAll(scene, mail, ['gone3@bad.example']);
    expect(await readRates(scene, mail.team)).toMatchObject([
      {
        code: 'bounce_rate_high',
        severity: 'warning',
        subjects: ['transactional'],
        summary:
          'Mail of the stream transactional: 4 of 10 recipients bounced (40 %) within 24 hours; the limit is 5 %.',
      },
    ]);
    const { body } = await scene.api('GET', '/operator/findings', { key: await scene.operator() });
    expect((body.findings as Told[]).find(({ code }) => code === 'bounce_rate_high')?.subjects).toEqual([
      `transactional of team ${mail.team.id}`,
    ]);
    const other = await mailIn(scene);
    expect(await readRates(scene, other.team)).toEqual([]);
    scene.clock.advance(22 * HOUR);
    expect(await readRates(scene, mail.team)).toHaveLength(1);
    scene.clock.advance(2 * HOUR);
    expect(await readRates(scene, mail.team)).toEqual([]);
  });

  it('do not count mail to the simulator', async () => {
    const mail = await mailIn(scene);
    const simulated = (name: string): string[] => many(10, `${name}+`, `simulator.${HOST}`);
    await sendAll(scene, mail, [...simulated('bounced'), ...simulated('complained'), ...simulated('delivered')]);
    expect(await readRates(scene, mail.team)).toEqual([]);
    expect(await scene.app.world.db.all('select * from stream_counts where team_id = ?', [mail.team.id])).toEqual([]);
  });

  it('count an address that bounces often once, because its first bounce suppresses it', async () => {
    const mail = await mailIn(scene);
    const key = await scene.operator();
    const body = { destination: 'bad.example', reason: 'test' };
    const hold = (await scene.api('POST', '/operator/queue/holds', { key, body })).body.id as string;
    await sendAll(scene, mail, [...many(10, 'good', 'one.example'), ...Array<string>(10).fill('gone@bad.example')]);
    await scene.api('DELETE', `/operator/queue/holds/${hold}`, { key });
    await scene.settled();
    const rows = await scene.app.world.db.all<{ delivered: number; bounced: number }>(
      'select sum(delivered) as delivered, sum(bounced) as bounced from stream_counts where team_id = ?',
      [mail.team.id],
    );
    expect(rows.map(({ delivered, bounced }) => [Number(delivered), Number(bounced)])).toEqual([[10, 1]]);
    expect(await readRates(scene, mail.team)).toEqual([]);
  });

  it('count complaints per delivered email, each address once', async () => {
    const mail = await mailIn(scene);
    const seen = scene.sink.messages.length;
    await sendAll(scene, mail, [...many(10, 'reader', 'one.example'), ...many(3, 'reader', 'one.example')]);
    const report = (mailFrom: string, to: string): string =>
      [
        'From: fbl@provider.example',
        'Content-Type: multipart/report; report-type=feedback-report; boundary=b',
        '',
        '--b',
        'Content-Type: message/feedback-report',
        '',
        'Feedback-Type: abuse',
        `Original-Mail-From: <${mailFrom}>`,
        `Original-Rcpt-To: <${to}>`,
        '--b--',
        '',
      ].join('\r\n');
    const complain = async (address: string): Promise<void> => {
      for (const { mailFrom, rcptTo } of scene.sink.messages.slice(seen)) {
        if (rcptTo[0] !== address) continue;
        await bringMail(scene, { from: '', to: [mailFrom], raw: report(mailFrom, address) });
      }
    };
    for (const address of ['reader0@one.example', 'reader1@one.example']) await complain(address);
    expect(await readRates(scene, mail.team)).toEqual([]);
    await complain('reader2@one.example');
    expect(await readRates(scene, mail.team)).toMatchObject([
      {
        code: 'complaint_rate_high',
        summary:
          'Mail of the stream transactional: 3 of 13 recipients reported it as spam (23.08 %) within 24 hours; the limit is 0.3 %.',
      },
    ]);
  });

  it('are separate for mail of automations', async () => {
    const has = await supply(scene);
    const team = desk(scene, has);
    await team.automate(mailStep('mail', has));
    for (const email of many(10, 'gone-auto', 'bad.example')) {
      const { id } = await team.must('POST', '/contacts', { email });
      await team.send({ product: 'Tea' }, id);
    }
    await scene.settled();
    expect(await readRates(scene, has.team)).toMatchObject([{ code: 'bounce_rate_high', subjects: ['automation'] }]);
  });
});

describe('the rates of streams with the default minimums', () => {
  let scene: Scene;
  beforeAll(async () => {
    scene = await startScene();
  });
  afterAll(() => scene.close());

  const count = async (counts: Omit<StreamCount, 'teamId' | 'stream'>): Promise<string[]> => {
    const team = await scene.team();
    const { db, ids } = scene.app.world;
    const row: StreamCount = { teamId: team.id, stream: 'broadcast', ...counts };
    await db.tx((tx) => addStreamCounts(tx, ids, scene.clock.now(), [row]));
    return (await readRates(scene, team)).map(({ code }) => code);
  };

  it.each([
    ['199 recipients, of whom 30 bounced, are too few', { delivered: 169, bounced: 30, complained: 0 }, []],
    ['30 of 200 bounced is a finding', { delivered: 170, bounced: 30, complained: 0 }, ['bounce_rate_high']],
    ['5 % of bounces is within the limit', { delivered: 190, bounced: 10, complained: 0 }, []],
    ['999 delivered are too few for complaints', { delivered: 999, bounced: 0, complained: 30 }, []],
    ['4 complaints of 1,000 are a finding', { delivered: 1000, bounced: 0, complained: 4 }, ['complaint_rate_high']],
    ['3 complaints of 1,000 are within the limit', { delivered: 1000, bounced: 0, complained: 3 }, []],
  ])('are as follows: %s', async (_, counts, codes) => {
    expect(await count(counts)).toEqual(codes);
  });

  it('no longer store hours that no rate includes', async () => {
    const team = await scene.team();
    const { db, ids } = scene.app.world;
    const counts: StreamCount = { teamId: team.id, stream: 'broadcast', delivered: 1, bounced: 1, complained: 0 };
    await db.tx((tx) => addStreamCounts(tx, ids, scene.clock.now() - 26 * HOUR, [counts]));
    await db.tx((tx) => addStreamCounts(tx, ids, scene.clock.now(), [counts]));
    await scene.app.jobs.find(({ name }) => name === 'forget-stream-counts')?.run();
    expect(await db.all('select hour from stream_counts where team_id = ?', [team.id])).toHaveLength(1);
  });

  it('are read by index, skipping hours of streams without a bounce or complaint', async () => {
    const { db, ids, clock } = scene.app.world;
    const now = clock.now();
    const hour = Math.floor(now / HOUR);
    const calm = Array.from({ length: 500 }, () => ids.uuid());
    const rows = calm.flatMap((team) =>
      Array.from({ length: 24 }, (_, i) => [team, 'transactional', hour - i, 0, 100, 0, 0]),
    );
    const columns = ['team_id', 'stream', 'hour', 'shard', 'delivered', 'bounced', 'complained'];
    await db.tx((tx) => tx.insertMany('stream_counts', columns, rows));
    const team = ids.uuid();
    await db.tx((tx) => tx.insertMany('stream_counts', columns, [[team, 'transactional', hour, 0, 300, 90, 0]]));
    await db.withKnex((knex) => knex.raw('analyze'));
    const limits = { bouncePercent: 5, bounceFloor: 200, complaintPercent: 0.3, complaintFloor: 1000, several: 3 };
    for (const teamId of [undefined, team]) {
      const plans = await explainQueries(
        db,
        () => streamsBeyond(db, { teamId, now, limits, most: 1000 }),
        'stream_counts',
      );
      expect(plans.length).toBeGreaterThan(0);
      for (const plan of plans) {
        expect(plan).toContain('stream_counts_in_trouble');
        expect(plan).not.toMatch(/SCAN (?:c|stream_counts)\b(?! USING)|Seq Scan/);
        if (db.dialect === 'pg') expect(rowsRead(plan)).toBeLessThan(200);
      }
    }
  });
});
