import { afterAll, beforeAll, expect, it } from 'vitest';
import { createInbox, runJob, type Inbox } from '../../rig/inboxes.ts';
import { createPeople } from '../../rig/people.ts';
import { receiveMail } from '../../rig/received-mail.ts';
import { startScene, type Scene, type Team } from '../../rig/scene.ts';
import { plantWebhook } from '../../rig/webhooks.ts';

let scene: Scene;
let team: Team;
let inbox: Inbox;
beforeAll(async () => {
  scene = await startScene();
  team = await scene.team();
  inbox = await createInbox(scene, team);
});
afterAll(() => scene.close());

const own = (more: Record<string, unknown> = {}) => createInbox(scene, team, more);
const toIds = (items: readonly { id: string }[]): string[] => items.map(({ id }) => id);

it('a message begins a thread, and its reply continues it', async () => {
  const { receive, threads, call } = await own();
  const first = await receive({ id: 'first@example.org', subject: 'Refund', text: 'Could I get\n a refund?' });
  const [thread] = await threads();
  expect(thread).toEqual({
    id: expect.any(String),
    subject: 'Refund',
    snippet: 'Could I get a refund?',
    from: 'Ada Lovelace <ada@example.org>',
    to: [expect.stringContaining('support@')],
    cc: [],
    bcc: [],
    labels: [],
    email_count: 1,
    has_attachment: false,
    has_draft: false,
    read: false,
    folder: 'inbox',
    received_at: new Date(scene.clock.now()).toISOString(),
    assignee: null,
    snoozed_until: null,
    answering: [],
    direction: 'inbound',
  });
  const second = await receive({ subject: 'Re: Refund', headers: ['In-Reply-To: <first@example.org>'] });
  expect(await threads()).toMatchObject([{ id: thread?.id, subject: 'Refund', email_count: 2 }]);
  const emails = (await call('GET', `/threads/${thread?.id}/emails`)).body;
  expect(emails).toMatchObject({ object: 'list', has_more: false, data: [{ id: second }, { id: first }] });
  expect((await call('GET', `/threads/${thread?.id}/emails/${first}`)).body).toEqual({
    id: first,
    direction: 'inbound',
    from: 'Ada Lovelace <ada@example.org>',
    to: [expect.stringContaining('support@')],
    cc: [],
    bcc: [],
    reply_to: [],
    subject: 'Refund',
    message_id: '<first@example.org>',
    html: null,
    text: 'Could I get\n a refund?\n',
    attachments: [],
    read: false,
    last_event: null,
    received_at: expect.any(String),
    verdict: 'unauthenticated',
  });
  expect((await call('GET', '')).body).toMatchObject({
    unread: 1,
    last_received: new Date(scene.clock.now()).toISOString(),
  });
});

it('an untrusted sender that names an id, and each recipient of a newsletter, begin threads of their own', async () => {
  const { receive, threads } = await own();
  await receive({ id: 'secret@example.org', subject: 'Contract' });
  const answer = { subject: 'Re: Contract', headers: ['In-Reply-To: <secret@example.org>'] };
  await receive({ ...answer, from: 'mallory@example.net' });
  await receive({ ...answer, from: 'trent@example.net' });
  expect((await threads()).map((one) => one.email_count)).toEqual([1, 1, 1]);
  await receive({ ...answer, from: 'trent@example.net' });
  expect((await threads()).map((one) => one.email_count)).toEqual([2, 1, 1]);
});

it('a message to two inboxes is in a thread of each, and a catch-all inbox takes what no other inbox has', async () => {
  const one = await own();
  const two = await own({ local: 'sales', domain: one.domain });
  const rest = await own({ local: '*', domain: one.domain });
  await one.receive({ for: [one.address, two.address] });
  await one.receive({ for: [`support+a-tag@${one.domain.name}`], subject: 'Tagged' });
  await one.receive({ for: [`anybody@${one.domain.name}`], subject: 'Elsewhere' });
  expect((await one.threads()).map((thread) => thread.subject)).toEqual(['Tagged', 'A question']);
  expect((await two.threads()).map((thread) => thread.subject)).toEqual(['A question']);
  expect((await rest.threads()).map((thread) => thread.subject)).toEqual(['Elsewhere']);
});

it('a mail that claims to come from the inbox itself counts as received, never as sent', async () => {
  const { receive, threads, call, address } = await own();
  await receive({ id: 'asked@example.org', subject: 'Money' });
  const forged = await receive({
    from: `Support <${address}>`,
    subject: 'Re: Money',
    headers: ['In-Reply-To: <asked@example.org>'],
  });
  const all = await threads();
  expect(all.map((one) => one.email_count)).toEqual([1, 1]);
  expect((await call('GET', `/threads/${all[0]?.id}/emails/${forged}`)).body).toMatchObject({
    direction: 'inbound',
    verdict: 'unauthenticated',
  });
});

it('an inbox can be set to match threads by sender and subject', async () => {
  const { receive, threads } = await own({ thread_by_subject: true });
  await receive({ subject: 'My order' });
  await receive({ subject: 'Re: My order' });
  await receive({ subject: 'Re: My order', from: 'bob@example.org' });
  expect((await threads()).map((one) => one.email_count)).toEqual([1, 2]);
});

it('mail of machines is kept apart, until a person writes in its thread or it is moved', async () => {
  const { receive, threads, call } = await own();
  const inFolder = async (folder: string) => (await threads(`?folders=${folder}`)).map((one) => one.subject);
  await receive({ subject: 'A question' });
  await receive({ subject: 'News', headers: ['List-Unsubscribe: <https://news.example/u>'] });
  await receive({ subject: 'Bulk', headers: ['Precedence: bulk'] });
  await receive({ subject: 'Away', id: 'away@example.org', headers: ['Auto-Submitted: auto-replied'] });
  const group = ['List-Id: <g.example>', 'List-Unsubscribe: <mailto:x@g.example>', 'List-Post: <mailto:g@g.example>'];
  await receive({ subject: 'By a group', headers: group });
  expect(await inFolder('inbox')).toEqual(['By a group', 'A question']);
  expect(await inFolder('automatic')).toEqual(['Away', 'Bulk', 'News']);
  expect((await call('GET', '')).body).toMatchObject({ unread: 2 });
  expect(await threads()).toHaveLength(5);
  expect((await call('GET', '/threads/search?query=away')).body.data).toMatchObject([{ folder: 'automatic' }]);

  const headers = ['In-Reply-To: <away@example.org>'];
  await receive({ subject: 'Re: Away', headers: [...headers, 'Auto-Submitted: auto-generated'] });
  expect(await inFolder('automatic')).toEqual(['Away', 'Bulk', 'News']);
  await receive({ subject: 'Re: Away', headers });
  expect(await inFolder('inbox')).toEqual(['Away', 'By a group', 'A question']);
  await receive({ subject: 'Re: Away', headers: [...headers, 'Auto-Submitted: auto-generated'] });
  expect(await inFolder('inbox')).toEqual(['Away', 'By a group', 'A question']);

  const [bulk] = await threads('?folders=automatic');
  const move = (folder: string) => call('PATCH', `/threads/${bulk?.id}`, { folder });
  expect((await move('inbox')).body).toMatchObject({ subject: 'Bulk', folder: 'inbox' });
  expect((await move('automatic')).body).toMatchObject({ folder: 'automatic' });
  const later = new Date(scene.clock.now() + 60_000).toISOString();
  const refused = await call('PATCH', `/threads/${bulk?.id}`, { snoozed_until: later });
  expect([refused.status, refused.body.message]).toEqual([422, expect.stringContaining('folder inbox')]);
});

it('new mail of a machine in an archived thread of machines leaves it apart, and a reply moves it to the inbox', async () => {
  const { receive, threads, call } = await own();
  const isMachines = 'Auto-Submitted: auto-generated';
  const id = await receive({ subject: 'Alarm', id: 'alarm@example.org', headers: [isMachines] });
  const [thread] = await threads('?folders=automatic');
  const archive = () => call('PATCH', `/threads/${thread?.id}`, { folder: 'archive' });
  const again = () => receive({ subject: 'Alarm', headers: [isMachines, 'In-Reply-To: <alarm@example.org>'] });
  const folder = async () => (await call('GET', `/threads/${thread?.id}`)).body.folder as string;
  await archive();
  await again();
  expect(await folder()).toBe('automatic');
  await call('POST', `/threads/${thread?.id}/emails/${id}/reply`, { text: 'Who gets this?' });
  expect(await folder()).toBe('inbox');
  await archive();
  await again();
  expect(await folder()).toBe('inbox');
});

it('threads can be moved, read, snoozed, assigned and annotated', async () => {
  const { receive, threads, call } = await own();
  const answerer = await createPeople(scene).person({ team });
  const viewer = await createPeople(scene).person({ team, role: 'viewer' });
  await receive({ id: 'q@example.org', subject: 'Question' });
  const [{ id } = { id: '' }] = await threads();
  const patch = (body: unknown) => call('PATCH', `/threads/${id}`, body);
  const thread = {
    object: 'inbox_thread',
    id,
    subject: 'Question',
    folder: 'archive',
    labels: [],
    read: true,
    assignee: null,
    snoozed_until: null,
    notes: null,
    answers_paused: null,
    answering: [],
  };
  expect((await patch({ read: true, folder: 'archive' })).body).toEqual(thread);
  expect((await call('GET', `/threads/${id}`)).body).toEqual(thread);
  expect(await threads('?folders=inbox')).toEqual([]);
  expect(toIds(await threads('?folders=archive,trash&read=true'))).toEqual([id]);
  expect(await threads('?folders=archive&read=false')).toEqual([]);
  const later = new Date(scene.clock.now() + 3_600_000).toISOString();
  expect(await patch({ snoozed_until: later })).toMatchObject({
    status: 422,
    body: { message: expect.stringContaining('folder inbox') },
  });
  expect((await patch({ folder: 'inbox', snoozed_until: later })).body).toMatchObject({
    folder: 'inbox',
    snoozed_until: later,
  });
  expect([await threads('?folders=inbox'), toIds(await threads('?snoozed=true'))]).toEqual([[], [id]]);
  for (const time of ['yesterday', '2001-01-01', new Date(scene.clock.now() + 400 * 86_400_000).toISOString()]) {
    expect((await patch({ snoozed_until: time })).status).toBe(422);
  }
  expect((await patch({ assignee: answerer.email.toUpperCase(), notes: 'Ask accounting.' })).body).toMatchObject({
    assignee: answerer.email,
    notes: 'Ask accounting.',
  });
  for (const email of [viewer.email, 'nobody@example.org']) {
    expect((await patch({ assignee: email })).body.message).toContain(email);
  }
  expect((await patch({ assignee: null, notes: null, read: false })).body).toMatchObject({
    assignee: null,
    notes: null,
    read: false,
  });
  expect((await call('GET', `/threads/${id}/emails`)).body.data).toMatchObject([{ read: false }]);
  expect((await patch({})).status).toBe(400);
  expect((await patch({ folder: 'sent' })).status).toBe(400);
});

it('a snoozed thread wakes at its time and comes first; new mail wakes it and takes it out of the archive', async () => {
  const { receive, threads, call } = await own();
  await receive({ id: 'sleeps@example.org', subject: 'Sleeps' });
  const [{ id } = { id: '' }] = await threads();
  await receive({ from: 'bob@example.org', subject: 'Newer' });
  const snooze = () =>
    call('PATCH', `/threads/${id}`, { snoozed_until: new Date(scene.clock.now() + 60_000).toISOString() });
  await snooze();
  await runJob(scene, 'keep-inboxes');
  expect((await threads()).map((one) => one.subject)).toEqual(['Newer']);
  scene.clock.advance(60_000);
  await runJob(scene, 'keep-inboxes');
  expect((await threads()).map((one) => one.subject)).toEqual(['Sleeps', 'Newer']);
  await snooze();
  const answer = { subject: 'Re: Sleeps', headers: ['References: <sleeps@example.org>'] };
  await receive(answer);
  expect(await threads('?folders=inbox')).toMatchObject([{ id, email_count: 2 }, { subject: 'Newer' }]);
  await call('PATCH', `/threads/${id}`, { folder: 'archive' });
  await receive(answer);
  expect(await threads('?folders=inbox')).toMatchObject([{ id, email_count: 3, read: false }, { subject: 'Newer' }]);
  await call('PATCH', `/threads/${id}`, { folder: 'spam' });
  await receive(answer);
  expect(await threads('?folders=spam')).toMatchObject([{ id, email_count: 4 }]);
});

it('a list shows whether the newest email was sent, even after that one is deleted', async () => {
  const { receive, threads, call } = await own();
  const asked = await receive({ id: 'asked@example.org', subject: 'Asked' });
  await receive({ id: 'waits@example.org', subject: 'Waits' });
  const directions = async (query = '') =>
    (await threads(query)).map((row) => [row.subject, (row as { direction?: string }).direction]);
  const thread = (await threads()).find(({ subject }) => subject === 'Asked')?.id;
  const sent = (await call('POST', `/threads/${thread}/emails/${asked}/reply`, { text: 'Answered.' })).body
    .id as string;
  const both = [
    ['Asked', 'outbound'],
    ['Waits', 'inbound'],
  ];
  expect(await directions()).toEqual(both);
  expect((await directions('/search?query=answered')).at(0)).toEqual(both[0]);
  await receive({ subject: 'Re: Asked', headers: ['In-Reply-To: <asked@example.org>'] });
  expect((await directions())[0]).toEqual(['Asked', 'inbound']);
  const { data } = (await call('GET', `/threads/${thread}/emails`)).body;
  await scene.api('DELETE', `/emails/receiving/${data[0].id as string}`, { key: team.key });
  expect((await call('GET', `/threads/${thread}/emails`)).body.data[0]).toMatchObject({ id: sent });
  expect((await directions())[0]).toEqual(['Asked', 'outbound']);
});

it('labels can be added, replaced and removed, and threads are listed by them', async () => {
  const { receive, threads, call } = await own();
  const label = async (name: string): Promise<string> => (await call('POST', '/labels', { name })).body.id;
  const a = await label('A');
  const b = await label('B');
  await receive({ subject: 'One' });
  await receive({ subject: 'Two', from: 'bob@example.org' });
  const [two = '', one = ''] = toIds(await threads());
  const shown = (id: string, name: string) => ({ id, name, color: '#8B8D98' });
  expect((await call('POST', `/threads/${one}/labels`, { labels: [a] })).body).toEqual({
    object: 'list',
    data: [shown(a, 'A')],
  });
  expect((await call('POST', `/threads/${one}/labels`, { labels: [b, a] })).body.data).toEqual([
    shown(a, 'A'),
    shown(b, 'B'),
  ]);
  await call('PUT', `/threads/${two}/labels`, { labels: [b] });
  expect(toIds(await threads(`?labels=${a}`))).toEqual([one]);
  expect(toIds(await threads(`?labels=${a},${b}`))).toEqual([two, one]);
  expect((await call('DELETE', `/threads/${one}/labels/${a}`)).body.data).toEqual([shown(b, 'B')]);
  expect((await call('DELETE', `/threads/${one}/labels/${a}`)).body.data).toEqual([shown(b, 'B')]);
  await call('PATCH', `/threads/${one}`, { folder: 'archive', read: true });
  expect(toIds(await threads(`?labels=${b}&folders=inbox`))).toEqual([two]);
  expect(toIds(await threads(`?labels=${b}&read=true`))).toEqual([one]);
  const elsewhere = await createInbox(scene, await scene.team());
  expect(await elsewhere.threads(`?labels=${b}`)).toEqual([]);
  expect((await call('PUT', `/threads/${one}/labels`, { labels: [] })).body.data).toEqual([]);
  const unknown = await call('POST', `/threads/${one}/labels`, { labels: [inbox.id] });
  expect([unknown.status, unknown.body.message]).toEqual([
    422,
    expect.stringContaining('is not a label of this inbox'),
  ]);
  await call('DELETE', `/labels/${b}`);
  expect((await call('GET', `/threads/${two}`)).body.labels).toEqual([]);
  await runJob(scene, 'keep-inboxes');
  expect(await threads(`?labels=${b}`)).toEqual([]);
});

it('pages hold every thread once, in both directions, with and without filters', async () => {
  const { receive, threads, call } = await own();
  for (let n = 0; n < 7; n++) await receive({ subject: `Thread ${n}`, from: `person${n}@example.org` });
  const all = toIds(await threads());
  for (const n of [1, 4]) await call('PATCH', `/threads/${all[n]}`, { folder: 'archive' });
  for (const filter of ['', '&read=false', '&folders=archive,inbox']) {
    const first = (await call('GET', `/threads?limit=3${filter}`)).body;
    const second = (await call('GET', `/threads?limit=3${filter}&after=${first.data[2].id}`)).body;
    const third = (await call('GET', `/threads?limit=3${filter}&after=${second.data[2].id}`)).body;
    expect([...first.data, ...second.data, ...third.data].map((one: { id: string }) => one.id)).toEqual(all);
    expect([first.has_more, second.has_more, third.has_more]).toEqual([true, true, false]);
    const back = (await call('GET', `/threads?limit=2${filter}&before=${all[3]}`)).body;
    expect([toIds(back.data), back.has_more]).toEqual([[all[1], all[2]], true]);
  }
});

it('a deleted thread is gone for good; its emails stay, and a reply begins a new thread', async () => {
  const { receive, threads, call } = await own();
  const email = await receive({ id: 'gone@example.org' });
  const [{ id } = { id: '' }] = await threads();
  expect((await call('DELETE', `/threads/${id}`)).body).toEqual({ object: 'inbox_thread', id, deleted: true });
  for (const [method, path] of [
    ['GET', ''],
    ['DELETE', ''],
    ['GET', '/emails'],
    ['GET', `/emails/${email}`],
  ] as const) {
    expect((await call(method, `/threads/${id}${path}`)).status).toBe(404);
  }
  expect((await scene.api('GET', `/emails/receiving/${email}`, { key: team.key })).status).toBe(200);
  await receive({ subject: 'Re: A question', headers: ['In-Reply-To: <gone@example.org>'] });
  expect(await threads()).toMatchObject([{ email_count: 1 }]);
});

it('the trash is emptied after thirty days, and threads are deleted with their inbox or received email', async () => {
  const { receive, threads, call, id: inboxId } = await own();
  const kept = await receive({ id: 'kept@example.org' });
  const gone = await receive({ subject: 'Re: A question', headers: ['References: <kept@example.org>'] });
  await receive({ from: 'bob@example.org', subject: 'Trash' });
  const [trash, thread] = await threads();
  await call('PATCH', `/threads/${trash?.id}`, { folder: 'trash' });
  await scene.api('DELETE', `/emails/receiving/${gone}`, { key: team.key });
  expect(await threads()).toMatchObject([{ id: thread?.id, email_count: 1 }]);
  scene.clock.advance(31 * 86_400_000);
  await runJob(scene, 'keep-inboxes');
  expect(await threads('?folders=trash')).toEqual([]);
  await scene.api('DELETE', `/emails/receiving/${kept}`, { key: team.key });
  expect(await threads()).toEqual([]);
  await receive({ subject: 'Last' });
  await call('POST', '/labels', { name: 'Label' });
  await scene.api('DELETE', `/inboxes/${inboxId}`, { key: team.key });
  await runJob(scene, 'keep-inboxes');
  const left = async (table: string, column: string): Promise<number> =>
    (await scene.app.world.db.all(`select 1 from ${table} where ${column} = ?`, [inboxId])).length;
  for (const table of ['inbox_threads', 'inbox_emails', 'inbox_message_ids', 'inbox_participants', 'inbox_labels']) {
    expect([table, await left(table, 'inbox_id')]).toEqual([table, 0]);
  }
  expect(await left('inboxes', 'id')).toBe(0);
});

it('mail whose content is not kept because of a rule is in no thread', async () => {
  const { receive, threads, address } = await own();
  await scene.api('POST', '/inbound-rules', { key: team.key, body: { pattern: address, action: 'webhook_only' } });
  await receive();
  expect(await threads()).toEqual([]);
  expect(await receiveMail(scene, team, { to: [address] })).toMatch(/^[0-9a-f-]{36}$/);
});

it('endpoints get an event for every change in an inbox, with its actor', async () => {
  const { receive, threads, call, id: inboxId } = await own();
  const types = ['created', 'folder.updated', 'assigned', 'unassigned', 'labels.updated'].map(
    (one) => `inbox.thread.${one}`,
  );
  await plantWebhook(scene, team, { events: ['inbox.email.received', 'inbox.updated', 'inbox.deleted', ...types] });
  const answerer = await createPeople(scene).person({ team });
  const email = await receive({ subject: 'Told' });
  const [{ id } = { id: '' }] = await threads();
  await answerer.call('PATCH', `/inboxes/${inboxId}/threads/${id}`, { assignee: answerer.email, folder: 'archive' });
  await call('PATCH', `/threads/${id}`, { assignee: null });
  const label = (await call('POST', '/labels', { name: 'A' })).body.id;
  await call('PUT', `/threads/${id}/labels`, { labels: [label] });
  await call('PUT', `/threads/${id}/labels`, { labels: [label] });
  await call('PATCH', '', { name: 'Told' });
  await call('DELETE', '');
  const events = await scene.app.world.db.all<{ type: string; data: string }>(
    "select type, data from events where team_id = ? and type like 'inbox.%' and data like ? order by id",
    [team.id, `%${inboxId}%`],
  );
  const told = events.map(({ type, data }) => ({ type, ...(JSON.parse(data) as Record<string, unknown>) }));
  const thread = { object: 'inbox_thread', id, subject: 'Told', folder: 'inbox', labels: [], read: false };
  const people = { assignee_email: answerer.email, assigned_by_email: answerer.email, previous_assignee_email: null };
  expect(told).toMatchObject([
    { type: 'inbox.created', source: 'api', inbox_id: inboxId, inbox: { object: 'inbox', id: inboxId } },
    { type: 'inbox.thread.created', source: 'system', thread_id: id, thread, email_id: email },
    { type: 'inbox.email.received', source: 'system', thread_id: id, email: { id: email, direction: 'inbound' } },
    { type: 'inbox.thread.folder.updated', source: 'dashboard', from: 'inbox', to: 'archive' },
    { type: 'inbox.thread.assigned', source: 'dashboard', ...people },
    { type: 'inbox.thread.unassigned', source: 'api', previous_assignee_email: answerer.email },
    { type: 'inbox.thread.labels.updated', source: 'api', added: [{ id: label, name: 'A' }], removed: [] },
    { type: 'inbox.updated', inbox: { name: 'Told' } },
    { type: 'inbox.deleted', source: 'api', inbox_id: inboxId },
  ]);
  expect(told[2]).not.toMatchObject({ email: { text: expect.anything() } });
});
