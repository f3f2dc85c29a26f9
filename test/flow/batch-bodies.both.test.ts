import { existsSync, readdirSync, statSync } from 'node:fs';
import path from 'node:path';
import PostalMime from 'postal-mime';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { insertSharedBodies, type SharedBodyRow } from '../../src/mail/shared-bodies/index.ts';
import { breakable } from '../rig/breakable.ts';
import { startScene, type Scene } from '../rig/scene.ts';
import { DAY, removeExpired } from './expiry.ts';
import { mailIn, listMessages, type Mail } from './mail.ts';

const BODY_BYTES = 200_000;
const FILLING = '<p>The same for everybody.</p>\n'.repeat(Math.ceil(BODY_BYTES / 31));

let scene: Scene;
beforeAll(async () => {
  scene = await startScene();
});
afterAll(() => scene.close());

interface Sent {
  id: string;
  to: string;
}

/** Publishes a large template with these beginnings of its texts, and returns its id. */
async function publish(
  mail: Mail,
  fields: Record<string, unknown>,
  filling = FILLING,
  { api }: Pick<Scene, 'api'> = scene,
): Promise<string> {
  const body = { name: 'Large', subject: 'Order', ...fields, html: `${String(fields.html)}${filling}` };
  const made = await api('POST', '/templates', { key: mail.team.key, body });
  expect(made.status, made.text).toBe(201);
  const id = made.body.id as string;
  expect((await api('POST', `/templates/${id}/publish`, { key: mail.team.key })).status).toBe(200);
  return id;
}

async function sendBatch(mail: Mail, emails: { to: string; template: Record<string, unknown> }[]): Promise<Sent[]> {
  const body = emails.map((email) => ({ from: `a@${mail.domain.name}`, ...email }));
  const sent = await scene.api('POST', '/emails/batch', { key: mail.team.key, body });
  expect(sent.status, sent.text).toBe(200);
  return (sent.body.data as { id: string }[]).map(({ id }, i) => ({ id, to: emails[i]?.to ?? '' }));
}

const read = async (mail: Mail, id: string): Promise<{ status: number; html: string; text: string | null }> => {
  const { status, body } = await scene.api('GET', `/emails/${id}`, { key: mail.team.key });
  return { status, html: body.html as string, text: body.text as string | null };
};

const arrived = async (id: string): Promise<{ html: string | undefined; text: string | undefined }> => {
  const messages = listMessages(scene, id);
  expect(messages).toHaveLength(1);
  const { html, text } = await PostalMime.parse(messages[0]?.data ?? '');
  return { html, text };
};

function bytesOfFiles(folder: string): number {
  if (!existsSync(folder)) return 0;
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .reduce((sum, entry) => sum + statSync(path.join(entry.parentPath, entry.name)).size, 0);
}

/** Counts the bytes of the bodies of all emails, wherever they are stored. */
async function storedBytes(): Promise<number> {
  const sums = await Promise.all(
    [
      `select sum(coalesce(octet_length(html), 0) + coalesce(octet_length(text), 0)
        + coalesce(octet_length(merge_values), 0)) as n from email_bodies`,
      'select sum(coalesce(octet_length(html), 0) + coalesce(octet_length(text), 0)) as n from shared_bodies',
      'select sum(length(content)) as n from contents',
    ].map(async (sql) => Number((await scene.app.world.db.get<{ n: number | null }>(sql))?.n ?? 0)),
  );
  return sums.reduce((sum, n) => sum + n, bytesOfFiles(path.join(scene.dataDir, 'blobs')));
}

const sharedBodies = async (mail: Mail): Promise<number> =>
  (await scene.app.world.db.all('select 1 from shared_bodies where team_id = ?', [mail.team.id])).length;

const ORDER = {
  html: '<h1>{{{NAME}}}</h1><p>{{{COUNT}}} of {{{WHAT|things}}}</p>',
  text: '{{{NAME}}}: {{{COUNT}}} of {{{WHAT|things}}}',
  variables: [
    { key: 'NAME', type: 'string' },
    { key: 'COUNT', type: 'number', fallback_value: 1 },
    { key: 'WHAT', type: 'string' },
  ],
};
const orders = (template: string, count: number, domain = 'one.example') =>
  Array.from({ length: count }, (_, i) => ({
    to: `r${i}@${domain}`,
    template: { id: template, variables: { NAME: `Name <${i}>`, COUNT: i } },
  }));

it('a batch of 100 with one large template stores its body once, and each recipient gets its own values', async () => {
  const mail = await mailIn(scene);
  const template = await publish(mail, ORDER);
  const before = await storedBytes();
  const sent = await sendBatch(mail, orders(template, 100));
  const grown = (await storedBytes()) - before;
  expect(grown).toBeGreaterThan(BODY_BYTES);
  expect(grown).toBeLessThan(1.2 * BODY_BYTES);
  await scene.settled();
  for (const [i, { id, to }] of sent.entries()) {
    const html = `<h1>Name &lt;${i}&gt;</h1><p>${i} of things</p>${FILLING}`;
    const text = `Name <${i}>: ${i} of things`;
    expect(await read(mail, id)).toEqual({ status: 200, html, text });
    const [message] = listMessages(scene, id);
    expect(message?.rcptTo).toEqual([to]);
    expect(message?.data.includes(`\r\n${text}\r\n`)).toBe(true);
    // Decoding all of them takes half a minute.
    if (i % 40 === 0) expect((await arrived(id)).html?.trim()).toBe(html.trim());
  }
});

it('emails with a shared body have exactly the content of a single send', async () => {
  const mail = await mailIn(scene);
  const place = '<a href="{{{A}}}" title=\'{{{B}}}\'>{{{A|none}}}</a><script>x = "{{{B}}}"</script><i style="{{{C}}}">';
  const word = (key: string, fallback_value?: string) => ({ key, type: 'string', fallback_value });
  const template = await publish(mail, {
    html: place,
    text: '{{{A}}} {{{B}}} {{{C|inline}}} {{{C}}}',
    subject: 'About {{{B}}}',
    variables: [word('A'), word('B'), word('C', 'fall<b>ack')],
  });
  const uses = [
    { A: 'javascript:alert(1)', B: 'x y', C: 'expression(1)' },
    { A: 'https://a.example/?q=ä b&c', B: '{{{A}}}' },
    { A: '', B: '"\'<&>\u{1F4E7}', C: '' },
  ].map((variables) => ({ id: template, variables }));
  const sent = await sendBatch(
    mail,
    uses.map((use) => ({ to: 'x@one.example', template: use })),
  );
  expect(await sharedBodies(mail)).toBe(1);
  for (const [i, use] of uses.entries()) {
    const single = await mail.send('x@one.example', { subject: undefined, text: undefined, template: use });
    expect(await read(mail, sent[i]?.id ?? '')).toEqual(await read(mail, single));
  }
  expect(await sharedBodies(mail)).toBe(1);
  await scene.settled();
});

it('a body is shared within one request and one version of a template, and with no other team', async () => {
  const mail = await mailIn(scene);
  const other = await mailIn(scene);
  const template = await publish(mail, ORDER);
  const second = await publish(mail, { ...ORDER, html: '<h2>{{{NAME}}} {{{COUNT}}}</h2>' });
  const others = await publish(other, { ...ORDER, html: '<h3>{{{NAME}}} {{{COUNT}}}</h3>' });
  const small = await publish(mail, ORDER, '');
  const mixed = [orders(template, 2), orders(second, 2), orders(small, 2)].flat();
  const sent = await sendBatch(mail, [
    ...mixed,
    { to: 'x@one.example', template: { id: small, variables: { NAME: 'x' } } },
  ]);
  expect(await sharedBodies(mail)).toBe(2);
  const foreign = await sendBatch(other, orders(others, 2));
  expect([await sharedBodies(mail), await sharedBodies(other)]).toEqual([2, 1]);
  await sendBatch(mail, orders(template, 1));
  expect(await sharedBodies(mail)).toBe(2);
  const begins = async (who: Mail, at: Sent | undefined) => (await read(who, at?.id ?? '')).html.slice(0, 25);
  expect(await begins(mail, sent[1])).toBe('<h1>Name &lt;1&gt;</h1><p');
  expect(await begins(mail, sent[3])).toBe('<h2>Name &lt;1&gt; 1</h2>');
  expect(await begins(mail, sent[5])).toBe('<h1>Name &lt;1&gt;</h1><p');
  expect(await begins(other, foreign[1])).toBe('<h3>Name &lt;1&gt; 1</h3>');
  expect((await read(other, sent[1]?.id ?? '')).status).toBe(404);
  await scene.settled();
});

it('a shared body outlives its template and later versions', async () => {
  const mail = await mailIn(scene);
  const template = await publish(mail, ORDER);
  const scheduled_at = new Date(scene.clock.now() + DAY).toISOString();
  const sent = await sendBatch(
    mail,
    orders(template, 3).map((order) => ({ ...order, scheduled_at })),
  );
  expect((await scene.api('DELETE', `/templates/${template}`, { key: mail.team.key })).status).toBe(200);
  scene.clock.advance(DAY);
  await scene.settled();
  expect((await arrived(sent[2]?.id ?? '')).html).toContain('<h1>Name &lt;2&gt;</h1>');
});

it('a shared body stays while any of its emails is kept, and is removed with the last of them', async () => {
  const mail = await mailIn(scene);
  const template = await publish(mail, ORDER);
  const before = await storedBytes();
  const key = await scene.operator();
  const hold = async (destination: string): Promise<string> => {
    const body = { destination, reason: 'test' };
    return (await scene.api('POST', '/operator/queue/holds', { key, body })).body.id as string;
  };
  const release = async (id: string): Promise<void> => {
    await scene.api('DELETE', `/operator/queue/holds/${id}`, { key });
    await scene.settled();
  };
  const holds = [await hold('kept.example'), await hold('late.example')];
  const order = (name: string, domain: string) => ({
    to: `${name}@${domain}`,
    template: { id: template, variables: { NAME: name } },
  });
  const [kept, , late] = await sendBatch(mail, [
    order('kept', 'kept.example'),
    order('gone', 'one.example'),
    order('late', 'late.example'),
    order('gone', 'one.example'),
  ]);
  const readBoth = async () => {
    const both = await Promise.all([kept, late].map((sent) => read(mail, sent?.id ?? '')));
    return both.map(({ status, text }) => `${status} ${text ?? ''}`.trim());
  };
  await scene.settled();
  scene.clock.advance(40 * DAY);
  await removeExpired(scene);
  await removeExpired(scene);
  const { data } = (await scene.api('GET', '/emails', { key: mail.team.key })).body as { data: { id: string }[] };
  expect(data.map(({ id }) => id)).toEqual([late?.id, kept?.id]);
  expect(await readBoth()).toEqual(['200 kept: 1 of things', '200 late: 1 of things']);
  await release(holds[0] ?? '');
  expect((await arrived(kept?.id ?? '')).html).toContain('<h1>kept</h1>');
  await removeExpired(scene);
  expect(await readBoth()).toEqual(['404', '200 late: 1 of things']);
  const left = await scene.app.world.db.all<SharedBodyRow>('select * from shared_bodies where team_id = ?', [
    mail.team.id,
  ]);
  expect(left).toHaveLength(1);
  await release(holds[1] ?? '');
  expect((await arrived(late?.id ?? '')).html).toContain('<h1>late</h1>');
  await removeExpired(scene);
  expect(await readBoth()).toEqual(['404', '404']);
  expect(await sharedBodies(mail)).toBe(0);
  expect(await storedBytes()).toBeLessThanOrEqual(before);
  // A stop between the removal of the emails and that of their body leaves it alone.
  await scene.app.world.db.tx((tx) => insertSharedBodies(tx, left));
  await removeExpired(scene);
  expect(await sharedBodies(mail)).toBe(0);
});

it('a batch that is refused for its quota leaves no shared body, and the next one stores its own', async () => {
  await using own = await startScene({ config: { plans: { standard: { daily_cap: 5 } } }, roles: ['http'] });
  const mail = await mailIn(own);
  const template = await publish(mail, ORDER, FILLING, own);
  const send = (count: number) =>
    own.api('POST', '/emails/batch', {
      key: mail.team.key,
      body: orders(template, count).map((order) => ({ from: `a@${mail.domain.name}`, ...order })),
    });
  const bodies = () => own.app.world.db.all('select 1 from shared_bodies');
  expect((await send(6)).body).toMatchObject({ statusCode: 429, name: 'daily_quota_exceeded' });
  expect(await bodies()).toHaveLength(0);
  expect((await send(4)).status).toBe(200);
  expect(await bodies()).toHaveLength(1);
});

it('a fault at any step of a batch leaves all of its emails with their body, or nothing', async () => {
  await using own = await startScene({ roles: ['http'] });
  const mail = await mailIn(own);
  const template = await publish(mail, ORDER, FILLING, own);
  const { failAt, steps } = breakable(own.app.world, 'ECONNRESET');
  const count = async (table: string): Promise<number> => (await own.app.world.db.all(`select 1 from ${table}`)).length;
  let accepted = 0;
  let refused = 0;
  for (let n = 1; ; n++) {
    failAt(n);
    const answer = await own.api('POST', '/emails/batch', {
      key: mail.team.key,
      body: orders(template, 2).map((order) => ({ from: `a@${mail.domain.name}`, ...order })),
    });
    const wasReached = steps() >= n;
    failAt(undefined);
    await own.app.world.commits.settled();
    if (answer.status === 200) accepted++;
    else refused++;
    expect([await count('shared_bodies'), await count('emails')]).toEqual([accepted, 2 * accepted]);
    if (!wasReached) break;
    expect(n).toBeLessThan(60);
  }
  expect(accepted).toBeGreaterThan(0);
  expect(refused).toBeGreaterThan(3);
});

it('emails whose values or variables would cost more than a body keep bodies of their own', async () => {
  const mail = await mailIn(scene);
  const long = await publish(mail, {
    html: Array.from({ length: 10 }, (_, i) => `{{{V${i}}}}`).join(' '),
    variables: Array.from({ length: 10 }, (_, i) => ({ key: `V${i}`, type: 'string' })),
  });
  const variables = Object.fromEntries(Array.from({ length: 10 }, (_, i) => [`V${i}`, String(i).repeat(2000)]));
  const many = await publish(mail, { html: '{{{N|x}}}'.repeat(1001), variables: [{ key: 'N', type: 'number' }] });
  const uses = [
    { id: long, variables },
    { id: many, variables: { N: 7 } },
  ];
  const sent = await sendBatch(
    mail,
    [...uses, ...uses].map((use) => ({ to: 'x@one.example', template: use })),
  );
  expect(await sharedBodies(mail)).toBe(0);
  expect((await read(mail, sent[2]?.id ?? '')).html).toContain(`${'0'.repeat(2000)} ${'1'.repeat(2000)}`);
  expect((await read(mail, sent[3]?.id ?? '')).html).toBe(`${'7'.repeat(1001)}${FILLING}`);
  await scene.settled();
});

it('one request writes at most 4 MB of shared bodies', async () => {
  const mail = await mailIn(scene);
  const filling = 'x'.repeat(1_900_000);
  const templates: string[] = [];
  for (const name of ['A', 'B', 'C']) templates.push(await publish(mail, { html: name }, filling));
  const sent = await sendBatch(
    mail,
    [...templates, ...templates].map((id) => ({ to: 'x@one.example', template: { id } })),
  );
  expect(await sharedBodies(mail)).toBe(2);
  const begins = await Promise.all(sent.map(async ({ id }) => (await read(mail, id)).html.slice(0, 2)));
  expect(begins).toEqual(['Ax', 'Bx', 'Cx', 'Ax', 'Bx', 'Cx']);
  await scene.settled();
});
