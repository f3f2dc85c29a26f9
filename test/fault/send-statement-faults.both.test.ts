import { expect, it } from 'vitest';
import { readContent } from '../../src/mail/contents/index.ts';
import { breakable } from '../rig/breakable.ts';
import { startScene, type Scene } from '../rig/scene.ts';

const TABLES = [
  'emails',
  'email_bodies',
  'email_tags',
  'email_attachments',
  'contents',
  'deliveries',
  'events',
  'idempotency_keys',
];

const FAULTS = [
  { why: 'a defect of ours', code: undefined, status: 500, name: 'application_error' },
  { why: 'a full disk', code: 'SQLITE_FULL', status: 503, name: 'service_unavailable' },
  { why: 'a lost connection', code: 'ECONNRESET', status: 503, name: 'service_unavailable' },
];

const CASES = FAULTS.flatMap((fault) => [
  { ...fault, kept: 'in rows', config: {}, files: [] },
  // Each of the two files fails once, the second when the first stands already.
  {
    ...fault,
    kept: 'in files',
    config: { storage: { row_bytes: 0 } },
    files: [expect.stringMatching(/^att_/), 'text'],
  },
]);

it.each(CASES)(
  '$why at any step of a send whose contents are stored $kept leaves all of it or nothing',
  async (fault) => {
    // Without the delivery role every statement is the send's own, so counting them is exact.
    await using scene = await startScene({ roles: ['http'], config: fault.config });
    const contents = 2 - fault.files.length;
    const team = await scene.team();
    const domain = await team.domain();
    const { failAt, steps, brokenBlobs } = breakable(scene.app.world, fault.code);
    const send = (n: number) =>
      scene.api('POST', '/emails', {
        key: team.key,
        headers: { 'idempotency-key': `send ${n}` },
        body: {
          from: `a@${domain.name}`,
          to: ['x@example.org', 'y@example.net'],
          subject: `Fault ${n}`,
          text: 'long enough for the blob store '.repeat(1000),
          attachments: [{ filename: 'a.txt', content: Buffer.from('attached').toString('base64') }],
          tags: [{ name: 'kind', value: 'receipt' }],
        },
      });

    let refused = 0;
    for (let n = 1; ; n++) {
      const before = await countRows(scene);
      failAt(n);
      const answer = await send(n);
      const wasReached = steps() >= n;
      failAt(undefined);
      await scene.app.world.commits.settled();
      if (answer.status === 200) {
        await mustBeWhole(scene, answer.body.id);
      } else {
        refused++;
        expect(answer.body).toMatchObject({ statusCode: fault.status, name: fault.name });
        expect(await countRows(scene)).toEqual(before);
        // The key is not stuck: the same request, sent again, is taken once.
        const again = await send(n);
        expect(again.status).toBe(200);
        await mustBeWhole(scene, again.body.id);
        expect((await send(n)).body).toEqual(again.body);
      }
      const grown = (await countRows(scene)).map((now, i) => now - (before[i] ?? 0));
      expect(grown).toEqual([1, 1, 1, 1, contents, 2, 1, 1]);
      if (!wasReached) {
        expect(answer.status).toBe(200);
        break;
      }
      expect(n).toBeLessThan(60);
    }
    expect(refused).toBeGreaterThan(5);
    expect(brokenBlobs).toEqual(fault.files);
  },
);

function countRows(scene: Scene): Promise<number[]> {
  return Promise.all(
    TABLES.map(async (table) => {
      const row = await scene.app.world.db.get<{ n: number }>(`select count(*) as n from ${table}`);
      return row?.n ?? -1;
    }),
  );
}

async function mustBeWhole(scene: Scene, id: string): Promise<void> {
  const { db } = scene.app.world;
  const rows = (table: string, column = 'email_id') => db.all(`select * from ${table} where ${column} = ?`, [id]);
  expect(await rows('emails', 'id')).toHaveLength(1);
  expect(await rows('email_bodies')).toMatchObject([{ text: null, text_in_blob: 1 }]);
  expect((await readContent(scene.app.world, `${id}/text`)).toString()).toContain('long enough');
  expect(await rows('email_attachments')).toHaveLength(1);
  expect(await rows('email_tags')).toMatchObject([{ tag: 'kind:receipt' }]);
  expect((await rows('deliveries')).map((row) => row.destination).sort()).toEqual(['example.net', 'example.org']);
  expect((await scene.events(id)).map((event) => event.type)).toEqual(['email.queued']);
}
