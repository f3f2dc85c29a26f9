import { afterAll, beforeAll, expect, it } from 'vitest';
import { createInbox, plantThreads, runJob, type Inbox, type ThreadItem } from '../../rig/inboxes.ts';
import { startScene, type Scene } from '../../rig/scene.ts';

let scene: Scene;
let inbox: Inbox;
beforeAll(async () => {
  scene = await startScene();
  inbox = await createInbox(scene, await scene.team());
});
afterAll(() => scene.close());

const search = async (query: string, from = inbox): Promise<ThreadItem[]> => {
  const { status, body } = await from.call('GET', `/threads/search?${query}`);
  expect([status, JSON.stringify(body)]).toEqual([200, expect.any(String)]);
  return body.data as ThreadItem[];
};
const subjects = async (query: string): Promise<(string | null)[]> => (await search(query)).map((one) => one.subject);

it('a search finds threads by words, addresses, files and dates, each by its newest matching email', async () => {
  const first = await inbox.receive({ id: 's1@example.org', subject: 'Refund for order 1041', text: 'Grüße aus KÖLN' });
  const second = await inbox.receive({
    subject: 'Re: Refund for order 1041',
    headers: ['References: <s1@example.org>'],
  });
  await inbox.receive({ subject: '100% wool_', from: 'Bob <bob@example.net>', cc: 'carol@example.com' });
  const [found] = await search('query=REFUND');
  expect(found).toMatchObject({ subject: 'Refund for order 1041', email_count: 2, matched_email_id: second });
  expect(await search('query=k%C3%B6ln')).toMatchObject([{ matched_email_id: first }]);
  expect(await subjects('query=0%25+wool')).toEqual(['100% wool_']);
  expect(await subjects('query=1%25')).toEqual([]);
  expect(await subjects('query=l_')).toEqual(['100% wool_']);
  expect(await subjects('from=bob@,nobody@')).toEqual(['100% wool_']);
  expect(await subjects('cc=carol@example.com&from=ada@')).toEqual([]);
  expect(await subjects('has_attachment=true')).toEqual([]);
  expect(await subjects('has_attachment=false&query=order')).toEqual(['Refund for order 1041']);
  expect(await subjects(`end_date=${new Date(scene.clock.now() - 86_400_000).toISOString()}`)).toEqual([]);
  expect(
    await subjects(`start_date=${new Date(scene.clock.now() - 1000).toISOString().slice(0, 10)}&query=wool`),
  ).toHaveLength(1);
  for (const bad of [
    'query=+',
    'from=,',
    `to=${Array.from({ length: 11 }, (_, n) => `a${n}@b.c`).join(',')}`,
    'start_date=soon',
    'folders=drafts',
  ]) {
    expect((await inbox.call('GET', `/threads/search?${bad}`)).status).toBe(422);
  }
});

it('a search finds names of files, and Latin letters with or without accents', async () => {
  const own = await createInbox(scene, await scene.team());
  const find = async (query: string) =>
    (await search(`query=${encodeURIComponent(query)}`, own)).map((one) => one.subject);
  await own.receive({
    subject: 'Rückmeldung',
    from: 'Łukasz Grøn <l@example.org>',
    content: [
      'Content-Type: multipart/mixed; boundary=b',
      '',
      '--b',
      'Content-Type: text/plain; charset=utf-8',
      '',
      'Die Straße in Orléans, мой が',
      '--b',
      'Content-Type: application/pdf',
      "Content-Disposition: attachment; filename*=utf-8''Rechnung%20f%C3%BCr%20Chlo%C3%A9%20%E2%84%964028.pdf",
      '',
      'a file',
      '--b--',
    ],
  });
  for (const query of [
    'ruckmeldung',
    'RÜCKMELDUNG',
    'strasse',
    'Straße',
    'orleans',
    'fur chloe',
    '№4028.pdf',
    'мой',
    'が',
  ]) {
    expect([query, await find(query)]).toEqual([query, ['Rückmeldung']]);
  }
  for (const query of ['мои', 'か', 'invoice.pdf']) expect([query, await find(query)]).toEqual([query, []]);
  expect(await search('from=lukasz+gron', own)).toHaveLength(1);
});

it('a search covers spam and trash on request, and snoozed threads always', async () => {
  await inbox.receive({ subject: 'Zebra', from: 'zoe@example.org' });
  const [{ id } = { id: '' }] = await search('query=zebra');
  const patch = (body: object) => inbox.call('PATCH', `/threads/${id}`, body);
  await patch({ snoozed_until: new Date(scene.clock.now() + 60_000).toISOString() });
  expect([await subjects('query=zebra'), await subjects('query=zebra&folders=inbox')]).toEqual([['Zebra'], ['Zebra']]);
  await patch({ folder: 'trash' });
  expect([await subjects('query=zebra'), await subjects('query=zebra&folders=trash')]).toEqual([[], ['Zebra']]);
});

it('search blocks leave nothing out, and pages join', async () => {
  const team = await scene.team();
  const own = await createInbox(scene, team);
  const mails = Array.from({ length: 600 }, (_, n) => ({
    subject: `Message ${n % 3 === 0 ? 'needle' : 'hay'} ${n}`,
    from: `p${n % 150}@example.org`,
  }));
  await plantThreads(scene, own, team, mails);
  const pages = async () => {
    const found: string[] = [];
    for (let after = ''; ;) {
      const { body } = await own.call('GET', `/threads/search?query=needle&limit=37${after}`);
      found.push(...body.data.map((one: ThreadItem) => one.subject));
      if (!body.has_more) return found;
      after = `&after=${body.data.at(-1).id}`;
    }
  };
  const expected = Array.from({ length: 200 }, (_, n) => `Message needle ${597 - 3 * n}`);
  expect(await pages()).toEqual(expected);
  scene.clock.advance(120_000);
  await runJob(scene, 'index-inboxes');
  const blocks = await scene.app.world.db.all('select id from inbox_search_blocks where inbox_id = ?', [own.id]);
  expect(blocks).toHaveLength(2);
  expect(await pages()).toEqual(expected);
  const last = (await search('query=needle&limit=100', own)).at(-1);
  const { body } = await own.call('GET', `/threads/search?query=needle&limit=5&before=${last?.id}`);
  expect(body.data.map((one: ThreadItem) => one.subject)).toEqual(expected.slice(94, 99));
});
