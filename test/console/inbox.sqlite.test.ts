import { mkdtemp, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { createReceivingDomain } from '../rig/mx.ts';
import { startScene, type Scene, type Team } from '../rig/scene.ts';
import { writingInbox, type WritingInbox } from '../rig/inbox.ts';
import { createPeople } from '../rig/people.ts';
import { keepFrame } from './keep-frame.ts';
import { Screen } from './screen.ts';

const SIZES = [
  [200, 50],
  [120, 40],
  [80, 24],
] as const;

/** A mail as people write them, with what was said before under it. */
const QUOTED = [
  'Hello,',
  '',
  'order 1041 has not arrived. The tracking page says that it was handed over on Monday, and nobody here has seen it.',
  'Could you look where it is, or send the money back?',
  '',
  'Ada',
  '',
  'On 20 November you wrote:',
  ...Array.from({ length: 8 }, (_, at) => `> what was said before, line ${at + 1}`),
].join('\r\n');

describe('the inbox of the console', () => {
  let scene: Scene;
  let team: Team;
  let inbox: WritingInbox;
  let member: string;
  let folderOfOpener: string;
  let seat: Screen;
  beforeAll(async () => {
    scene = await startScene();
    team = await scene.team('Example');
    member = (await createPeople(scene).person({ team })).email;
    // The domain has the same name in every run, for the frames.
    const domain = await createReceivingDomain(scene, team, 'd1.example.com');
    inbox = await writingInbox(scene, team, { domain, name: 'Customer support', signature: 'Grace\nExample' });
    await inbox.call('POST', '/labels', { body: { name: 'Billing', color: '#00A2C7' } });
    await inbox.arrive({
      from: 'Grace Hopper <grace@example.net>',
      subject: 'An invoice for November',
      text: 'Please send it.',
    });
    await inbox.arrive({
      from: 'Shop <no-html@example.net>',
      subject: 'Only HTML',
      content: [
        'Content-Type: text/html; charset=utf-8',
        '',
        '<style>p{color:red}</style><p>Is it <b>blue</b>?</p><img src="http://tracker.example/p.gif" alt="a picture"><a href="https://example.net/order">the order</a>',
      ],
    });
    await inbox.arrive({
      from: '週報 <weekly@example.net>',
      subject: '請求書について \u202Egnp.exe',
      text: 'よろしくお願いします\u001B[31m',
    });
    await inbox.arrive({ subject: 'Where is order 1041?', text: QUOTED });
    await inbox.arrive({
      from: 'Shop <news@example.net>',
      subject: 'News of the week',
      headers: ['List-Unsubscribe: <https://example.net/u>'],
      content: [
        'Content-Type: text/html; charset=utf-8',
        '',
        '<p>Teas are <b>back</b>.</p><blockquote>' +
          Array.from({ length: 8 }, (_, at) => `<p>what Ann wrote, line ${at + 1}</p>`).join('') +
          '</blockquote><p>The shop</p>',
      ],
    });
    folderOfOpener = await mkdtemp(path.join(tmpdir(), 'rasket-opener-'));
    const opener = path.join(folderOfOpener, 'opener');
    await writeFile(opener, `printf '%s\\n' "$1" >> ${folderOfOpener}/opened\n`);
    const editor = path.join(folderOfOpener, 'editor');
    await writeFile(path.join(folderOfOpener, 'status'), '3');
    await writeFile(
      editor,
      [
        `cp "$1" ${folderOfOpener}/handed`,
        `printf '%s\\n' "$1" "$(stat -c %a "$1")" "$(stat -c %a "$(dirname "$1")")" > ${folderOfOpener}/modes`,
        `printf 'First.\\n\\nEdited.\\n' | cat - ${folderOfOpener}/handed > "$1"`,
        `sed -i '4,5d' "$1"`,
        `exit "$(cat ${folderOfOpener}/status)"`,
      ].join('\n'),
    );
    const env = { TZ: 'UTC', RASKET_OPEN: `sh ${opener}`, EDITOR: `sh ${editor}` };
    seat = await Screen.take({ url: scene.url, key: team.key, env });
    await seat.sees('received mail');
    await seat.type(':inbox');
    await seat.sees(':inbox');
    await seat.press('Enter');
    await seat.sees('Customer support', inbox.address);
    await seat.press('Enter');
    await seat.sees('Where is order 1041?', 'order 1041 has not arrived');
  });
  afterAll(async () => {
    await seat?.[Symbol.asyncDispose]();
    await scene?.close();
    if (folderOfOpener) await rm(folderOfOpener, { recursive: true });
  });

  const inFolder = async (folders: string): Promise<string[]> =>
    ((await inbox.call('GET', `/threads?folders=${folders}`)).body.data as { subject: string }[]).map(
      ({ subject }) => subject,
    );
  const sent = async (): Promise<{ to: string[]; subject: string; last_event: string }[]> =>
    (await scene.api('GET', '/emails', { key: team.key })).body.data;

  it('shows the list on the left and the thread on the right with folded quotes, at each size', async () => {
    await keepFrame(seat, 'inbox-threads', 'Where is order 1041?', SIZES);
    const frame = await seat.sees('r reply', 'e archive', 's snooze', 'l label', '/ search');
    expect(frame).not.toContain('line 8');
    await seat.press('o');
    await seat.resize(120, 40);
    await seat.sees('what was said before, line 8');
    await seat.press('o');
  });

  it('shows HTML as text, marks images without showing their address, and removes control characters', async () => {
    await seat.resize(120, 40);
    await seat.press('Down');
    const steered = await seat.sees('請求書について', 'よろしくお願いします');
    expect(steered).not.toMatch(/\u202E|\u001B\[31m/);
    await seat.press('Down');
    const html = await seat.sees('Is it blue?', '[a picture]', 'the order <https://example.net/order>');
    expect(html).not.toMatch(/tracker\.example|color:red/);
    await seat.press('g');
    await seat.sees(/›● Ada|› {2}Ada/);
  });

  it('replies in place, sends no empty text, and restores a reply that was put aside', async () => {
    await seat.press('r');
    await seat.sees('Answer', 'To: Ada Lovelace <ada@example.org>', 'ctrl-s send');
    await seat.press('C-s');
    await seat.sees('The text is empty');
    await seat.type('Dear Ada,');
    await seat.press('Enter', 'Enter');
    await seat.type('it is on its way.');
    await seat.press('Escape');
    await seat.sees('Press r to continue the text');
    expect(await sent()).toEqual([]);
    await seat.press('r');
    await seat.sees('Dear Ada,', 'it is on its way.');
    await keepFrame(seat, 'inbox-answer', 'it is on its way.', SIZES);
    await seat.press('C-s');
    await seat.sees('Answered', '(e archives the thread)');
    expect(await sent()).toMatchObject([
      { to: ['Ada Lovelace <ada@example.org>'], subject: 'Re: Where is order 1041?' },
    ]);
    await scene.settled();
    await seat.sees('Dear Ada,', /\(2\)/, '(delivered)');
    await keepFrame(seat, 'inbox-answered', 'Dear Ada,', SIZES);
  });

  it('archives and opens the next thread, and takes it back', async () => {
    await seat.press('e');
    await seat.sees('Archived  Where is order 1041?', /よろしくお願いします/);
    await vi.waitFor(async () => expect(await inFolder('archive')).toEqual(['Where is order 1041?']));
    await seat.press('U');
    await seat.sees('Back in inbox', 'Where is order 1041?');
    expect(await inFolder('archive')).toEqual([]);
    await seat.press('g', 'e');
    await vi.waitFor(async () => expect(await inFolder('archive')).toEqual(['Where is order 1041?']));
  });

  it('snoozes, labels and marks threads as unread', async () => {
    await seat.press('g', 'l');
    await seat.sees('Labels:', '[ ] Billing');
    await keepFrame(seat, 'inbox-labels', '[ ] Billing', SIZES);
    await seat.press('1');
    await seat.sees('Added  Billing', '[Billing]');
    await seat.press('s');
    await seat.sees('Snooze until', 'in 3 hours');
    await seat.press('2');
    await seat.sees(/Snoozed until \d\d-\d\d \d\d:\d\d {2}請求書について/);
    await vi.waitFor(async () => expect((await inbox.call('GET', '/threads?snoozed=true')).body.data).toHaveLength(1));
    await seat.press('U');
    await seat.sees('Back in inbox');
    expect((await inbox.call('GET', '/threads?snoozed=true')).body.data).toEqual([]);
    await seat.press('g', 'Enter');
    await seat.press('Escape');
    await vi.waitFor(async () =>
      expect((await inbox.call('GET', '/threads?folders=inbox&read=true')).body.data).toHaveLength(1),
    );
    await seat.press('u');
    await vi.waitFor(async () =>
      expect((await inbox.call('GET', '/threads?folders=inbox&read=true')).body.data).toEqual([]),
    );
  });

  it('searches, and switches between folders', async () => {
    await seat.press('/');
    await seat.type('invoice');
    await seat.press('Enter');
    await seat.sees('/invoice · 1/1', 'An invoice for November');
    await seat.press('/');
    await seat.type('order');
    await seat.press('Enter');
    await seat.sees('/order · 1/2', '[archive] Where is', '[inbox] Only HTML');
    await keepFrame(seat, 'inbox-search', '[archive]', SIZES);
    await seat.resize(120, 40);
    await seat.press('Escape');
    await seat.sees('inbox · 1/3');
    await seat.press('Tab', 'Tab', 'Tab');
    await seat.sees('archive · 1/1', 'Where is order 1041?');
    await seat.press('BTab', 'BTab', 'BTab');
    await seat.sees('inbox · 1/3');
  });

  it('the inbox of the console keeps mail of machines apart, and folds quotes of HTML', async () => {
    await seat.press('Tab');
    const frame = await seat.sees('automatic · 1/1', 'News of the week', 'Teas are back.', '> what Ann wrote, line 1');
    expect(frame).toContain('13 more quoted lines (o shows them)');
    expect(frame).toMatch(/The shop/);
    expect(frame).not.toContain('line 8');
    await keepFrame(seat, 'inbox-automatic', 'News of the week', SIZES);
    await seat.resize(120, 40);
    await seat.press('o');
    await seat.sees('> what Ann wrote, line 8');
    await seat.press('o', 'i', 'y');
    await seat.sees('Reopened');
    await vi.waitFor(async () => expect(await inFolder('automatic')).toEqual([]));
    await seat.press('BTab');
    await seat.sees('inbox · 1/4', 'News of the week');
    await seat.press('g', 'M', 'y');
    await seat.sees('Moved to the mail of machines', /inbox · \d\/3/);
  });

  it('the inbox of the console snoozes until a time that is typed, and says which times it reads', async () => {
    await seat.press('g', 's');
    await seat.sees('Snooze until', '6  another time …');
    await seat.press('6');
    await seat.sees('tomorrow 9:00, monday, 17:30, in 3 days');
    await seat.type('soon');
    await seat.press('Enter');
    await seat.sees('"soon" must be a time in the future');
    await seat.press('C-u');
    await seat.type('in 3 days');
    await keepFrame(seat, 'inbox-snooze', 'in 3 days', SIZES);
    await seat.resize(120, 40);
    const now = Date.now();
    await seat.press('Enter');
    await seat.sees('Snoozed until', /inbox · \d\/2/);
    const [snoozed] = (await inbox.call('GET', '/threads?snoozed=true')).body.data as { snoozed_until: string }[];
    expect(Date.parse(snoozed?.snoozed_until ?? '') - now).toBeGreaterThanOrEqual(3 * 86_400_000);
    await seat.press('U');
    await seat.sees('Back in inbox', /inbox · \d\/3/);
  });

  it('the inbox of the console assigns a thread to a member of the team who is chosen from a list, and takes that back', async () => {
    await seat.press('g', 'a');
    await seat.sees('Assign:', `[ ] ${member}`);
    await keepFrame(seat, 'inbox-assign', `[ ] ${member}`, SIZES);
    await seat.resize(120, 40);
    await seat.press('1');
    await seat.sees(`Assigned to ${member}`, `for ${member}`);
    await seat.press('a');
    await seat.sees(`[x] ${member}`, '[ ] nobody');
    await seat.press('2');
    await seat.sees('Unassigned');
    await vi.waitFor(async () =>
      expect((await inbox.call('GET', '/threads?folders=inbox')).body.data[0]).toMatchObject({ assignee: null }),
    );
  });

  it('the inbox of the console saves a file of the thread, and keeps one that is there already', async () => {
    await inbox.arrive({
      from: 'Grace Hopper <grace@example.net>',
      subject: 'A screenshot',
      content: [
        'Content-Type: multipart/mixed; boundary=b',
        '',
        '--b',
        'Content-Type: text/plain',
        '',
        'Look.',
        '--b',
        'Content-Type: image/png',
        'Content-Disposition: attachment; filename="../screen.png"',
        '',
        'a picture',
        '--b--',
      ],
    });
    await seat.sees(/inbox · \d\/4/, 'A screenshot');
    await seat.press('g', 'v');
    await seat.sees('Save a file of this thread', 'screen.png  10 bytes  from Grace Hopper');
    await keepFrame(seat, 'inbox-files', 'screen.png', SIZES);
    await seat.resize(120, 40);
    await seat.press('1');
    await seat.sees('Save it as', '__screen.png');
    await seat.press('C-u');
    const folder = await mkdtemp(path.join(tmpdir(), 'rasket-files-'));
    await seat.type(path.join(folder, 'screen.png'));
    await seat.press('Enter');
    await seat.sees('Saved ');
    expect(await readFile(path.join(folder, 'screen.png'), 'utf8')).toBe('a picture\n');
    await seat.press('v', '1', 'C-u');
    await seat.type(path.join(folder, 'screen.png'));
    await seat.press('Enter');
    await seat.sees('already exists');
    await rm(folder, { recursive: true });
  });

  it('the inbox of the console replies with copies, another subject and a file, shows what is added below, and keeps all of it aside', async () => {
    const folder = await mkdtemp(path.join(tmpdir(), 'rasket-files-'));
    await writeFile(path.join(folder, 'manual.txt'), 'how it works');
    await seat.press('g', 'r');
    await seat.sees('Answer', 'To: Grace Hopper', '> Look.', 'Example');
    await seat.type('See the manual.');
    await seat.press('Tab');
    await seat.sees('Cc:', 'Bcc:', 'Subject:', 'Files:');
    await seat.type('bob@example.net, Carol <carol@example.net>');
    await seat.press('Tab', 'Tab');
    await seat.type('The manual');
    await seat.press('Tab');
    await seat.type(`${folder}/man`);
    await seat.press('Tab');
    await seat.sees('manual.txt');
    await seat.press('Escape');
    await seat.sees('Press r to continue the text');
    await seat.press('r');
    await seat.sees('Cc: bob@example.net', 'Subject: The manual', 'manual.txt', 'See the manual.');
    await keepFrame(seat, 'inbox-compose', 'Subject: The manual', SIZES);
    await seat.resize(120, 40);
    await rename(path.join(folder, 'manual.txt'), path.join(folder, 'moved.txt'));
    await seat.press('C-s');
    await seat.sees('The email was not sent:', 'there is no such file');
    await rename(path.join(folder, 'moved.txt'), path.join(folder, 'manual.txt'));
    await seat.press('C-s');
    await seat.sees('Answered');
    const [email] = (await scene.api('GET', '/emails', { key: team.key })).body.data as { id: string }[];
    const { body } = await scene.api('GET', `/emails/${email?.id}`, { key: team.key });
    expect(body).toMatchObject({
      to: ['Grace Hopper <grace@example.net>'],
      cc: ['bob@example.net', 'Carol <carol@example.net>'],
      subject: 'The manual',
      text: expect.stringMatching(/^See the manual\.\n\n-- \nGrace\nExample\n/),
    });
    const { body: files } = await scene.api('GET', `/emails/${email?.id}/attachments`, { key: team.key });
    expect(files.data).toMatchObject([{ filename: 'manual.txt', size: 12 }]);

    await seat.sees(/\(2\)/);
    await seat.press('r');
    await seat.type('Later.');
    await seat.press('Tab');
    await seat.type('dave@example.net');
    await seat.press('C-d');
    await seat.sees('Saved as a draft');
    const [draft] = (await inbox.call('GET', '/drafts')).body.data as { id: string }[];
    expect((await inbox.call('GET', `/drafts/${draft?.id}`)).body).toMatchObject({
      type: 'reply',
      cc: ['dave@example.net'],
      text: 'Later.',
    });
    await rm(folder, { recursive: true });
  });

  it('the inbox of the console continues a draft with the key that replies, saves it again, and sends it once', async () => {
    const [draft] = (await inbox.call('GET', '/drafts')).body.data as { id: string }[];
    await seat.sees('[draft]');
    await seat.press('r');
    await seat.sees('This continues the draft of ', 'Cc: dave@example.net', 'Later.▏');
    await keepFrame(seat, 'inbox-draft-continued', 'This continues the draft of ', SIZES);
    await seat.resize(120, 40);
    await seat.press('Escape');
    await vi.waitFor(async () => expect(await seat.frame()).not.toContain('This continues the draft of '));
    expect(await seat.frame()).not.toContain('Press r to continue');
    await seat.press('r');
    await seat.sees('Later.▏');
    await seat.type(' Or now.');
    scene.clock.advance(1000);
    await seat.press('C-d');
    await seat.sees('Saved as a draft');
    expect((await inbox.call('GET', '/drafts')).body.data).toMatchObject([
      { id: draft?.id, snippet: 'Later. Or now.' },
    ]);
    await seat.press('r');
    await seat.sees('Later. Or now.▏');
    scene.clock.advance(1000);
    await inbox.call('PATCH', `/drafts/${draft?.id}`, { body: { text: 'Never.' } });
    await seat.press('C-s');
    await seat.sees('The draft was changed by somebody else while you were writing.');
    await seat.press('C-s');
    await seat.sees('Answered');
    expect((await inbox.call('GET', '/drafts')).body.data).toEqual([]);
    const { body: sent } = await inbox.call('GET', `/drafts/${draft?.id}`);
    const { body } = await scene.api('GET', `/emails/${sent.email_id}`, { key: team.key });
    expect(body).toMatchObject({
      to: ['Grace Hopper <grace@example.net>'],
      cc: ['dave@example.net'],
      text: expect.stringMatching(/^Later\. Or now\.\n/),
    });
  });

  it('the inbox of the console opens a file in a private folder with the program of the user, and refuses what could run', async () => {
    await inbox.arrive({
      from: 'Grace Hopper <grace@example.net>',
      subject: 'Two files',
      content: [
        'Content-Type: multipart/mixed; boundary=b',
        '',
        ...[
          ['../../notes.txt', 'just notes'],
          ['page.html', '<script>alert(1)</script>'],
          ['picture.png', '#!/bin/sh'],
        ].flatMap(([name, text]) => [
          '--b',
          'Content-Type: application/octet-stream',
          `Content-Disposition: attachment; filename="${name}"`,
          '',
          text ?? '',
        ]),
        '--b--',
      ],
    });
    await seat.sees(/inbox · \d\/5/, 'Two files');
    await seat.press('g', 'O');
    await seat.sees('Open a file of this thread', 'notes.txt', 'page.html', 'picture.png');
    await seat.press('1');
    await seat.sees('Opened  __.._notes.txt');
    const opened = await vi.waitFor(async () => {
      const told = await readFile(path.join(folderOfOpener, 'opened'), 'utf8');
      expect(told).toMatch(/\n$/);
      return told.trim();
    });
    expect(opened).toMatch(/^\/[^\n]*\/rasket-open-\w{6}\/__\.\._notes\.txt$/);
    expect(await readFile(opened, 'utf8')).toBe('just notes\n');
    expect((await stat(opened)).mode & 0o777).toBe(0o600);
    expect((await stat(path.dirname(opened))).mode & 0o777).toBe(0o700);
    await seat.press('O', '2');
    await seat.sees('page.html is not opened, because it could run as a program; v saves it.');
    await seat.press('O', '3');
    await seat.sees('picture.png is not opened');
    expect(await readFile(path.join(folderOfOpener, 'opened'), 'utf8')).toBe(`${opened}\n`);
    await seat.press('e');
    await seat.sees('Archived', /inbox · 1\/4/);
  });

  it('the inbox of the console says where a file is if there is no program to open it', async () => {
    await using plain = await Screen.take({
      url: scene.url,
      key: team.key,
      columns: 120,
      env: { TZ: 'UTC', RASKET_OPEN: undefined, DISPLAY: undefined },
    });
    await plain.type(':inbox');
    await plain.sees(':inbox');
    await plain.press('Enter');
    await plain.sees('Customer support', inbox.address);
    await plain.press('Enter');
    await plain.sees('A screenshot');
    await plain.press('g', 'O');
    await plain.sees('2  ../screen.png');
    await plain.press('2');
    await plain.sees('There is no program to open it with', /rasket-open-\w{6}\/__screen\.png/);
  });

  it('the inbox of the console forwards with recipients, note, subject and a file, with the files of the email', async () => {
    const folder = await mkdtemp(path.join(tmpdir(), 'rasket-files-'));
    await writeFile(path.join(folder, 'terms.txt'), 'the terms');
    await seat.press('g', 'f');
    await seat.sees('Forward', 'Fwd: A screenshot', 'To: ', 'with ../screen.png');
    await seat.press('C-s');
    await seat.sees('To is empty; type an address.');
    await seat.type('desk@example.net, Dave <dave@example.net>');
    await seat.press('Tab');
    await seat.type('carol@example.net');
    await seat.press('Tab');
    await seat.type('bob@example.net');
    await seat.press('Tab');
    await seat.type('Please look');
    await seat.press('Tab');
    await seat.type(`${folder}/ter`);
    await seat.press('Tab');
    await seat.sees('terms.txt');
    await seat.press('Tab');
    await seat.type('Is it ours?');
    await seat.press('C-d');
    await seat.sees('cannot be saved as a draft');
    await seat.press('Escape');
    await seat.sees('Press f to continue the text');
    await seat.press('r');
    await seat.sees('Answer');
    expect(await seat.frame()).not.toContain('Is it ours?');
    await seat.press('Escape', 'f');
    await seat.sees('Dave <dave@example.net>', 'Cc: carol@example.net', 'Subject: Please look', 'Is it ours?');
    await keepFrame(seat, 'inbox-forward', 'Is it ours?', SIZES);
    await seat.resize(120, 40);
    await seat.press('C-s');
    await seat.sees('Forwarded   (e archives the thread)');
    const [email] = (await scene.api('GET', '/emails', { key: team.key })).body.data as { id: string }[];
    const { body } = await scene.api('GET', `/emails/${email?.id}`, { key: team.key });
    expect(body).toMatchObject({
      to: ['desk@example.net', 'Dave <dave@example.net>'],
      cc: ['carol@example.net'],
      bcc: ['bob@example.net'],
      subject: 'Please look',
      text: expect.stringMatching(/^Is it ours\?\n.*Forwarded message.*Look\.$/s),
    });
    const { body: files } = await scene.api('GET', `/emails/${email?.id}/attachments`, { key: team.key });
    expect((files.data as { filename: string }[]).map(({ filename }) => filename).sort()).toEqual([
      '../screen.png',
      'terms.txt',
    ]);
    await rm(folder, { recursive: true });
  });

  it('the inbox of the console inserts a template that is found by typing at the cursor, and asks for values that it lacks', async () => {
    const make = async (alias: string, name: string, more: object): Promise<void> => {
      expect((await scene.api('POST', '/templates', { key: team.key, body: { alias, name, ...more } })).status).toBe(
        201,
      );
    };
    await seat.press('g', 'r');
    await seat.sees('Answer');
    await seat.press('C-t');
    await seat.sees('Insert a template', 'There are no published templates with an alias yet');
    await seat.press('Escape');
    await seat.sees('Answer');
    const named = { key: 'CUSTOMER_NAME', type: 'string' };
    const order = { key: 'ORDER', type: 'number' };
    const html = '<p>Dear {{{CUSTOMER_NAME}}},</p><p>order {{{ORDER}}} is refunded.</p>';
    await make('refund', 'Refund of an order', { html, variables: [named, order] });
    await make('hours', 'Opening hours', { html: '<p>H</p>', text: 'We are open from 9 to 5.' });
    await make('secret', 'Never published', { html: '<p>S</p>' });
    for (const alias of ['refund', 'hours']) await scene.api('POST', `/templates/${alias}/publish`, { key: team.key });
    await seat.type('Before. After.');
    await seat.press(...Array.from({ length: 6 }, () => 'Left'), 'C-t');
    const listed = await seat.sees('Insert a template', 'hours', 'Opening hours', 'refund', 'Refund of an order');
    expect(listed).not.toContain('Never published');
    await keepFrame(seat, 'inbox-templates', 'Opening hours', SIZES);
    await seat.resize(120, 40);
    await seat.type('open');
    await seat.sees('> open', '› hours');
    await seat.press('Enter');
    await seat.sees('Before. We are open from 9 to 5.▏After.');
    await seat.press('C-u', 'C-k', 'C-t');
    await seat.type('ref');
    await seat.press('Enter');
    await seat.sees('Template refund', 'ORDER:');
    await seat.type('x');
    await seat.press('Enter');
    await seat.sees('ORDER must be a number.');
    await seat.press('BSpace');
    await seat.type('1041');
    await seat.press('Enter');
    await seat.sees('Dear Grace Hopper,', 'order 1041 is refunded.▏');
    await seat.press('C-s');
    await seat.sees('Answered');
    const [email] = (await scene.api('GET', '/emails', { key: team.key })).body.data as { id: string }[];
    const { body } = await scene.api('GET', `/emails/${email?.id}`, { key: team.key });
    expect(body.text).toMatch(/^Dear Grace Hopper,\n+order 1041 is refunded\.\n\n-- \n/);
  });

  it('the inbox of the console edits the text in the editor of the user, with the email below, and keeps it if that fails', async () => {
    await seat.press('g', 'r');
    await seat.type('First.');
    await seat.press('C-x');
    await seat.sees('The editor exited with status 3; the text is as it was before.', 'First.▏');
    await writeFile(path.join(folderOfOpener, 'status'), '0');
    await seat.press('C-x');
    await seat.sees('First.', 'Edited.▏');
    const handed = await readFile(path.join(folderOfOpener, 'handed'), 'utf8');
    expect(handed).toMatch(
      /^First\.\n\n# -+ >8 -+\n# Write above.*\n# From: Grace Hopper <grace@example\.net>.*\n> Look\.\n/s,
    );
    const [file = '', mode, folderMode] = (await readFile(path.join(folderOfOpener, 'modes'), 'utf8')).split('\n');
    expect([mode, folderMode]).toEqual(['600', '700']);
    await expect(stat(path.dirname(file))).rejects.toThrow('ENOENT');
    await seat.press('C-u', 'BSpace', 'C-u', 'Escape');
    await using plain = await Screen.take({ url: scene.url, key: team.key, columns: 120, env: { EDITOR: '' } });
    await plain.type(':inbox');
    await plain.sees(':inbox');
    await plain.press('Enter');
    await plain.sees('Customer support', inbox.address);
    await plain.press('Enter');
    await plain.sees('A screenshot');
    await plain.press('g', 'r');
    await plain.type('Kept.');
    await plain.press('C-x');
    await plain.sees('No editor is set. Set VISUAL or EDITOR', 'Kept.▏');
  });

  it('the inbox of the console shows who else is answering, in the list, the thread and the composer, and warns once before it sends', async () => {
    const people = createPeople(scene);
    const ada = await people.person({ team, name: 'Ada Lovelace' });
    const { threadId, path: answered } = await inbox.arrive({
      from: 'Zoe <zoe@example.net>',
      subject: 'Two of us',
      text: 'Who answers?',
    });
    const isAnnounced = async (name: string): Promise<boolean> =>
      ((await inbox.call('GET', `/threads/${threadId}`)).body.answering as { name: string }[]).some(
        (one) => one.name === name,
      );
    const lynn = await people.person({ team, name: 'Lynn Conway' });
    const open = async (key: string): Promise<Screen> => {
      const screen = await Screen.take({ url: scene.url, key, columns: 120, rows: 40, env: { TZ: 'UTC' } });
      await screen.type(':inbox');
      await screen.sees(':inbox');
      await screen.press('Enter');
      await screen.sees('Customer support', inbox.address);
      await screen.press('Enter');
      await screen.sees('Who answers?');
      await screen.press('g');
      return screen;
    };
    await using first = await open(await people.program(ada, team.id));
    await using second = await open(await people.program(lynn, team.id));
    await first.press('r');
    await vi.waitFor(async () => expect(await isAnnounced('Ada Lovelace')).toBe(true));
    await second.sees('[Ada answering]', /Ada Lovelace is answering since \d\d:\d\d\./);
    await keepFrame(second, 'inbox-answering', 'Ada Lovelace is answering', SIZES);
    await second.resize(120, 40);
    expect(await first.frame()).not.toContain('answering');
    // The server forgets it; the console announces it again while the text is written.
    scene.clock.advance(121_000);
    await vi.waitFor(async () => expect(await isAnnounced('Ada Lovelace')).toBe(true), { timeout: 20_000 });
    await second.press('r');
    await second.sees('To: Zoe', 'Ada Lovelace is answering too.');
    await first.sees('Lynn Conway is answering too.');
    await second.type('I do.');
    await second.press('C-s');
    await second.sees('Ada Lovelace is answering too. Ctrl-S again sends yours all the same.');
    expect((await inbox.call('GET', `/threads/${threadId}`)).body).toMatchObject({ id: threadId });
    expect((await inbox.call('GET', `/threads/${threadId}/emails`)).body.data).toHaveLength(1);
    scene.clock.advance(1000);
    await second.press('C-s');
    await second.sees('Answered');
    expect(await isAnnounced('Lynn Conway')).toBe(false);
    await first.type('Me too.');
    await first.press('C-s');
    await first.sees(
      'Somebody has replied in this thread while you were writing. Ctrl-S again sends yours all the same.',
    );
    await first.press('Escape');
    await vi.waitFor(async () => expect(await isAnnounced('Ada Lovelace')).toBe(false));
    expect((await inbox.call('GET', `/threads/${threadId}/emails`)).body.data).toHaveLength(2);
    expect((await inbox.call('PATCH', `/threads/${threadId}`, { body: { folder: 'archive' } })).status).toBe(200);
    expect(answered).toContain(threadId);
  });

  it('the inbox of the console shows the other threads of the person whose mail is open', async () => {
    await seat.press('c');
    await seat.sees('/from=grace@example.net · 1/3', '[archive] [file] Two files', '[inbox] An invoice');
    await seat.press('Escape');
    await seat.sees(/inbox · \d\/4/);
    await seat.press('g', 'e');
    await seat.sees('Archived', 'inbox · 1/3');
  });

  it('the inbox of the console goes on with the next older thread after an answered one, and returns to its thread after a search', async () => {
    for (const subject of ['Oldest', 'Middle', 'Newest'])
      await inbox.arrive({ from: 'Ann <ann@example.net>', subject, text: 'Any news?' });
    await seat.sees(/inbox · \d\/6/);
    await seat.press('g', 'Down', 'c');
    await seat.sees('/from=ann@example.net · 1/3');
    await seat.press('Escape');
    await seat.sees('inbox · 2/6', /^›[^\n]*\n +Middle/m);
    await seat.press('r');
    await seat.type('None.');
    await seat.press('Tab', 'Tab', 'Tab');
    await seat.sees('Re: Middle');
    await seat.type('Nothing new');
    await seat.press('C-s');
    await seat.sees('Answered', 'inbox · 1/6', 'Subject: Nothing new');
    await seat.press('e');
    await seat.sees('Archived', 'inbox · 2/5', /^›[^\n]*\n +Oldest/m);
    await seat.press('e');
    await seat.sees('inbox · 2/4');
    await seat.press('g', 'e');
    await seat.sees('inbox · 1/3');
  });

  it('lists the drafts of everybody, and shows one', async () => {
    for (const subject of ['Your refund', 'Opening hours']) {
      const body = { to: ['ada@example.org'], subject, text: `${subject}, as promised.` };
      expect((await inbox.call('POST', '/drafts', { body })).status).toBe(201);
      scene.clock.advance(1);
    }
    await seat.resize(80, 24);
    await seat.press('D');
    await seat.sees(/^› .*Opening hours/m, /drafts +1\/2$/m);
    await keepFrame(seat, 'inbox-drafts', 'Opening hours', SIZES);
    await seat.press('Enter');
    await seat.sees('drafts › Opening hours');
    await seat.press('Escape');
    await seat.sees(/drafts +1\/2$/m);
    await seat.press('Escape');
    await seat.sees('inbox · 1/3');
  });

  it('keeps a text that the server refuses', async () => {
    await seat.press('G', 'r');
    await seat.sees('To: Grace Hopper');
    await seat.type('Here it is.');
    await scene.api('POST', '/suppressions', { key: team.key, body: { email: 'grace@example.net' } });
    await scene.api('DELETE', `/domains/${inbox.domain.id}`, { key: team.key });
    await seat.press('C-s');
    await seat.sees('The email was not sent:', 'Here it is.');
    await seat.press('Escape');
    await seat.press('r');
    await seat.sees('Here it is.');
    await seat.press('Escape');
  });
});
