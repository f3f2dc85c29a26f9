// Customers are answered at a terminal: list, read, answer in an editor, file away.
import fs from 'node:fs';
import net from 'node:net';
import path from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { writingInbox, type WritingInbox } from '../rig/inbox.ts';
import { createPeople } from '../rig/people.ts';
import { startScene, type Scene, type Team } from '../rig/scene.ts';
import { scratchFolder } from '../rig/scratch.ts';
import { runInProcess } from './in-process.ts';

let scene: Scene;
let team: Team;
let inbox: WritingInbox;
let home: string;
beforeAll(async () => {
  scene = await startScene();
  team = await scene.team('Example');
  inbox = await writingInbox(scene, team, { name: 'Customer support' });
});
beforeEach(() => {
  home = scratchFolder('rasket-inbox-');
});
afterEach(() => fs.rmSync(home, { recursive: true, force: true }));
afterAll(() => scene.close());

interface More {
  columns?: number;
  input?: string;
  env?: Record<string, string>;
  key?: string;
}

const rasket = (words: string[], { columns, input, env = {}, key = team.key }: More = {}) =>
  runInProcess(['inbox', ...words], {
    cwd: home,
    ...(columns === undefined ? {} : { columns }),
    ...(input === undefined ? {} : { input }),
    env: { HOME: home, PATH: process.env['PATH'], TMPDIR: home, RASKET_URL: scene.url, RASKET_API_KEY: key, ...env },
  });

/** An editor that puts this above what it is handed, and keeps what that was. */
function editor(text: string, { status = 0 } = {}): { EDITOR: string; handed: () => string } {
  const file = path.join(home, 'editor');
  fs.writeFileSync(path.join(home, 'typed'), text);
  fs.writeFileSync(file, `cp "$1" ${home}/handed\ncat ${home}/typed ${home}/handed > "$1"\nexit ${status}\n`);
  return { EDITOR: `sh ${file}`, handed: () => fs.readFileSync(path.join(home, 'handed'), 'utf8') };
}

const sentFrom = async (): Promise<{ id: string; to: string[]; subject: string }[]> =>
  (await scene.api('GET', '/emails?limit=100', { key: team.key })).body.data;
const fetchText = async (id: string): Promise<string> =>
  (await scene.api('GET', `/emails/${id}`, { key: team.key })).body.text;
/** Returns the files in which answers were written and which were not removed. */
const leftBehind = (): string[] => fs.readdirSync(home).filter((name) => name.startsWith('rasket-answer-'));

describe('inbox threads at the command line', () => {
  it('are listed, found and read as text, the newest last', async () => {
    const { threadId } = await inbox.arrive({ subject: 'A refund', messageId: 'one@example.org', text: 'First.' });
    await inbox.arrive({
      subject: 'Re: A refund',
      headers: ['In-Reply-To: <one@example.org>'],
      content: ['Content-Type: text/html', '', '<p>Second &amp; <a href="https://example.org/x">last</a></p>'],
    });
    const listed = await rasket(['threads', inbox.address, '--json']);
    expect(JSON.parse(listed.stdout).data).toMatchObject([{ id: threadId, email_count: 2 }]);
    const found = await rasket(['search', inbox.address, '--query', 'refund'], { columns: 120 });
    expect(found.stdout).toContain('A refund');
    const read = await rasket(['read', inbox.address, threadId], { columns: 100 });
    expect(read.code).toBe(0);
    expect(read.stdout).toMatch(/A refund[^]*First\.[^]*Second & last <https:\/\/example\.org\/x>/);
    expect(read.shown).toMatch(new RegExp(`rasket inbox reply .*${inbox.address} ${threadId}`));
    const lines = (await rasket(['read', inbox.address, threadId, '--json'])).stdout.trim().split('\n');
    expect(lines.map((line) => JSON.parse(line).subject)).toEqual(['A refund', 'Re: A refund']);
  });

  it('contain no control characters', async () => {
    const { threadId } = await inbox.arrive({
      from: '"\u202Egpj\u001B[2J" <eve@example.org>',
      subject: 'Hi',
      text: 'a\u001B]0;title\u0007b\u009B31mc',
    });
    for (const words of [
      ['read', inbox.address, threadId],
      ['threads', inbox.address],
      ['emails', inbox.address, threadId],
    ]) {
      const { stdout } = await rasket(words);
      expect(stdout).not.toMatch(/[\u0000-\u0008\u000B-\u001F\u007F-\u009F\u202E]/);
    }
  });

  it('are archived, snoozed, assigned, noted and labeled by name', async () => {
    const { threadId } = await inbox.arrive({ subject: 'Filed' });
    const ask = async () => (await inbox.call('GET', `/threads/${threadId}`)).body;
    await inbox.call('POST', '/labels', { body: { name: 'Billing', color: '#00A2C7' } });
    expect((await rasket(['label', inbox.address, threadId, 'billing'])).stdout).toContain('Billing');
    const { stderr } = await rasket(['label', inbox.address, threadId, 'nothing']);
    expect(stderr).toContain('there is no label nothing');
    expect(stderr).toContain('Create it with: rasket inbox create-label ');
    expect((await ask()).labels).toMatchObject([{ name: 'Billing' }]);
    await rasket(['unlabel', inbox.address, threadId, 'Billing']);
    expect((await ask()).labels).toEqual([]);
    await rasket(['note', inbox.address, threadId, 'Asked accounting.']);
    const until = new Date(scene.clock.now() + 86_400_000).toISOString();
    expect((await rasket(['snooze', inbox.address, threadId, until])).code).toBe(0);
    expect(await ask()).toMatchObject({ snoozed_until: until, notes: 'Asked accounting.' });
    await rasket(['wake', inbox.address, threadId]);
    expect((await ask()).snoozed_until).toBeNull();
    expect((await rasket(['snooze', inbox.address, threadId, 'soon'])).stderr).toContain('such as 2h or 3d');
    for (const [verb, folder] of [
      ['archive', 'archive'],
      ['spam', 'spam'],
      ['trash', 'trash'],
      ['reopen', 'inbox'],
    ] as const) {
      expect((await rasket([verb, inbox.address, threadId])).code).toBe(0);
      expect((await ask()).folder).toBe(folder);
    }
    await rasket(['mark-read', inbox.address, threadId]);
    expect((await ask()).read).toBe(true);
    await rasket(['unread', inbox.address, threadId]);
    expect((await ask()).read).toBe(false);
  });

  it('are replaced by a hint when the team has no inbox', async () => {
    const { key } = await scene.team('New');
    const { code, stderr } = await rasket(['channels'], { key });
    expect({ code, stderr }).toMatchObject({
      code: 65,
      stderr: expect.stringMatching(/rasket inbox create .*ADDRESS/),
    });
  });
});

describe('a reply at the command line', () => {
  it('is the text above the scissors line in the editor, with the email below it', async () => {
    const { threadId } = await inbox.arrive({ subject: 'Where is it?', text: 'Order 1041.' });
    const before = (await sentFrom()).length;
    const { handed, ...env } = editor('It is on its way.\n');
    const { code, shown } = await rasket(['reply', inbox.address, threadId], { columns: 100, env });
    expect({ code, shown }).toMatchObject({ code: 0, shown: expect.stringContaining('Answered') });
    expect(handed()).toMatch(/>8 -+\n[^]*# From: Ada Lovelace <ada@example\.org>[^]*> Order 1041\./);
    const [sent, ...others] = await sentFrom();
    expect(others).toHaveLength(before);
    expect(sent).toMatchObject({ subject: 'Re: Where is it?' });
    const text = await fetchText(sent?.id ?? '');
    expect(text).toMatch(/^It is on its way\./);
    expect(text).not.toMatch(/>8|# From|Write above/);
    expect(leftBehind()).toEqual([]);
  });

  it('is not sent when nothing was typed or the editor fails, which keeps what was typed', async () => {
    const { threadId } = await inbox.arrive({ subject: 'Nothing to say' });
    const before = await sentFrom();
    const { handed: _, ...nothing } = editor('  \n\n');
    const empty = await rasket(['reply', inbox.address, threadId], { columns: 100, env: nothing });
    expect(empty).toMatchObject({ code: 1, stderr: expect.stringContaining('the text is empty; nothing was sent') });
    expect(leftBehind()).toEqual([]);
    const { handed: __, ...failing } = editor('Half a thought', { status: 3 });
    const failed = await rasket(['reply', inbox.address, threadId], { columns: 300, env: failing });
    const [, file = ''] = /Your text is in (\S+)/.exec(failed.stderr) ?? [];
    expect(fs.readFileSync(file, 'utf8')).toBe('Half a thought\n');
    expect(fs.statSync(file).mode & 0o077).toBe(0);
    expect(await rasket(['reply', inbox.address, threadId, '--text', ' '])).toMatchObject({ code: 64 });
    expect(await rasket(['reply', inbox.address, threadId])).toMatchObject({ code: 64 });
    expect((await sentFrom()).map(({ id }) => id)).toEqual(before.map(({ id }) => id));
  });

  it('is read from standard input, and sent once however often the same command runs', async () => {
    const { threadId } = await inbox.arrive({ subject: 'Twice' });
    const run = () => rasket(['reply', inbox.address, threadId, '--text-file', '-'], { input: 'Once.\n' });
    const first = await run();
    const second = await run();
    expect(first).toMatchObject({ code: 0 });
    expect(second.stdout).toBe(first.stdout);
    expect([first.stderr, second.stderr]).toEqual(['', expect.stringContaining('was not sent again')]);
    const sent = async () => (await sentFrom()).filter(({ subject }) => subject === 'Re: Twice').length;
    expect(await sent()).toBe(1);
    // With a key of its own it is another reply, which is also sent once.
    const again = () => rasket(['reply', inbox.address, threadId, '--text', 'Once.', '--idempotency-key', 'second']);
    const third = await again();
    const fourth = await again();
    expect([third.stdout === first.stdout, fourth.stdout === third.stdout]).toEqual([false, true]);
    expect(await sent()).toBe(2);
  });

  it('that is typed again in the editor is another reply', async () => {
    const { threadId } = await inbox.arrive({ subject: 'Thank you' });
    const { handed: _, ...env } = editor('Thanks.\n');
    const words = ['reply', inbox.address, threadId];
    const one = await rasket(words, { columns: 100, env });
    const two = await rasket(words, { columns: 100, env });
    expect([one.code, two.code]).toEqual([0, 0]);
    expect((await sentFrom()).filter(({ subject }) => subject === 'Re: Thank you')).toHaveLength(2);
  });

  it.each([
    ['assign', ['nobody@example.net'], 'is not a member of this team', 'rasket members list'],
    ['snooze', ['2019-01-01T00:00:00Z'], 'in the future', ''],
  ])('rasket inbox %s names what helps when it is refused', async (verb, words, says, helps) => {
    const { threadId } = await inbox.arrive({ subject: 'Hints' });
    const refused = await rasket([verb, inbox.address, threadId, ...words], { columns: 120 });
    expect(refused.stderr).toContain(says);
    expect(refused.stderr).toContain(helps);
    expect(refused.stderr).not.toContain('inbox list');
  });

  it('rasket inbox snooze for an archived thread says how to bring it back', async () => {
    const { threadId } = await inbox.arrive({ subject: 'Archived' });
    await rasket(['archive', inbox.address, threadId]);
    const refused = await rasket(['snooze', inbox.address, threadId, '2d'], { columns: 300 });
    const [, command = ''] = /Move it there first with[^]*?rasket inbox (.*)\n/.exec(refused.stderr) ?? [];
    expect(await rasket(command.trim().split(' '))).toMatchObject({ code: 0 });
    expect(await rasket(['snooze', inbox.address, threadId, '2d'])).toMatchObject({ code: 0 });
  });

  it('can be a template with the values of the thread, which rasket inbox render shows without sending', async () => {
    const { threadId } = await inbox.arrive({ subject: 'Money back', text: 'Please.' });
    const body = {
      name: 'Refund',
      alias: 'refund',
      html: '<p>Dear {{{CUSTOMER_NAME}}}, order {{{ORDER}}} is refunded.</p>',
      variables: ['CUSTOMER_NAME', 'ORDER'].map((key) => ({ key, type: 'string' })),
    };
    await scene.api('POST', '/templates', { key: team.key, body });
    await scene.api('POST', '/templates/refund/publish', { key: team.key });
    const before = (await sentFrom()).length;
    const words = [inbox.address, threadId, '--template', 'refund', '--variable', 'ORDER=1041'];
    const rendered = await rasket(['render', ...words]);
    expect(rendered).toMatchObject({ code: 0, stdout: 'Dear Ada Lovelace, order 1041 is refunded.\n' });
    expect(await sentFrom()).toHaveLength(before);
    expect((await rasket(['reply', ...words])).code).toBe(0);
    const [sent, ...others] = await sentFrom();
    expect(others).toHaveLength(before);
    const { body: email } = await scene.api('GET', `/emails/${sent?.id}`, { key: team.key });
    expect(email.html).toMatch(/^<p>Dear Ada Lovelace, order 1041 is refunded\.<\/p>/);
    const unknown = await rasket(['reply', inbox.address, threadId, '--template', 'refnud']);
    expect(unknown).toMatchObject({ code: 65, stderr: expect.stringContaining('there is no template "refnud"') });
    const written = await rasket(['write', ...words.slice(0, 1), '--to', 'Bob <bob@example.net>', ...words.slice(2)]);
    expect(written.code, written.stderr).toBe(0);
    const draft = (await inbox.call('GET', `/drafts/${written.stdout.trim()}`)).body;
    expect(draft.html).toBe('<p>Dear Bob, order 1041 is refunded.</p>');
  });

  it('is announced while it is written, and a second person is warned and may send', async () => {
    const people = createPeople(scene);
    const ada = await people.person({ team, name: 'Ada Lovelace' });
    const grace = await people.program(await people.person({ team, name: 'Grace Hopper' }), team.id);
    const { threadId } = await inbox.arrive({ subject: 'Who answers?', text: 'One of you.' });
    const fifo = path.join(home, 'go');
    fs.writeFileSync(path.join(home, 'slow'), `mkfifo ${fifo}; read line < ${fifo}; echo "$line" > "$1"\n`);
    const key = await people.program(ada, team.id);
    const first = rasket(['reply', inbox.address, threadId], { key, columns: 100, env: { EDITOR: `sh ${home}/slow` } });
    const fetchNames = async (): Promise<string[]> =>
      ((await inbox.call('GET', `/threads/${threadId}`)).body.answering as { name: string }[]).map(({ name }) => name);
    await vi.waitFor(async () => expect(await fetchNames()).toEqual(['Ada Lovelace']));
    await vi.waitFor(() => expect(fs.existsSync(fifo)).toBe(true));
    for (const words of [['thread'], ['read'], ['threads']]) {
      const seen = await rasket([...words, inbox.address, ...(words[0] === 'threads' ? ['--wide'] : [threadId])], {
        columns: 200,
      });
      expect(seen.stdout, seen.stderr).toContain('Ada Lovelace is answering');
    }
    const second = await rasket(['reply', inbox.address, threadId, '--text', 'I do.'], { key: grace });
    expect(second.stderr).toContain('Ada Lovelace is answering in this thread.');
    expect(second.code).toBe(0);
    scene.clock.advance(1000);
    fs.writeFileSync(fifo, 'So do I.\n');
    const { code, stderr } = await first;
    expect({ code, stderr }).toMatchObject({ code: 0, stderr: expect.not.stringContaining('answering') });
    expect(await fetchNames()).toEqual([]);
    expect((await inbox.call('GET', `/threads/${threadId}/emails`)).body.data).toHaveLength(3);
    const failed = await rasket(['reply', inbox.address, threadId], { key, columns: 100, env: { EDITOR: 'false' } });
    expect(failed.code).toBe(1);
    expect(await fetchNames()).toEqual([]);
  });

  it('that was refused is kept as a draft, which can be edited and sent', async () => {
    const { threadId } = await inbox.arrive({ subject: 'Refused' });
    const { handed: _, ...env } = editor('Kept.\n');
    const refused = await rasket(['reply', inbox.address, threadId, '--cc', 'no address'], { columns: 300, env });
    expect(refused.code).not.toBe(0);
    const [, draft = ''] = /saved as a draft[^]*rasket inbox send .*?(\S+)\n/.exec(refused.stderr) ?? [];
    expect(leftBehind()).toEqual([]);
    expect((await inbox.call('GET', `/drafts/${draft}`)).body).toMatchObject({ text: 'Kept.', thread_id: threadId });
    const listed = await rasket(['drafts', inbox.address], { columns: 120 });
    expect(listed.stdout).toContain(String(draft).slice(-8));
    const { handed: __, ...again } = editor('Better. ');
    expect(await rasket(['edit', inbox.address, draft], { columns: 100, env: again })).toMatchObject({ code: 0 });
    expect((await inbox.call('GET', `/drafts/${draft}`)).body.text).toBe('Better. Kept.');
    expect(await rasket(['send', inbox.address, draft])).toMatchObject({ code: 0 });
    expect((await sentFrom())[0]).toMatchObject({ subject: 'Re: Refused' });
  });

  it.each([
    ['no answer', undefined],
    ['a fault of the server', failure(500, 'application_error')],
    ['another one on its way', failure(409, 'concurrent_idempotent_requests')],
  ])('whose outcome is unknown after %s is kept in its file, and sent once from there', async (about, instead) => {
    const subject = `In doubt: ${about}`;
    const { threadId } = await inbox.arrive({ subject });
    await using line = await losingLine(scene.url, instead);
    const { handed: _, ...env } = editor('Not lost.\n');
    const words = ['reply', inbox.address, threadId];
    const more = ['--cc', 'grace@example.org'];
    const lost = await rasket([...words, ...more], { columns: 300, env: { ...env, RASKET_URL: line.url } });
    expect(lost.code).not.toBe(0);
    const [, file = '', again = ''] =
      /Your text is saved in (\S+)\. It is sent only once[^]*rasket inbox (reply .*--text-file.*)/.exec(lost.stderr) ??
      [];
    expect(again).toMatch(/--cc grace@example\.org --idempotency-key cli-[0-9a-f-]{36}$/);
    expect(fs.readFileSync(file, 'utf8')).toBe('Not lost.\n');
    const answers = async () => (await sentFrom()).filter((one) => one.subject === `Re: ${subject}`);
    expect(await answers()).toHaveLength(1);
    expect(
      (await inbox.call('GET', '/drafts')).body.data.filter((one: { text: string }) => one.text === 'Not lost.'),
    ).toEqual([]);
    // The second try ends like the first.
    const second = { columns: 300, env: { RASKET_URL: line.url } };
    expect((await rasket(again.trim().split(' '), second)).code).not.toBe(0);
    expect(await rasket(again.replace(line.url, scene.url).trim().split(' '))).toMatchObject({ code: 0 });
    expect(await answers()).toHaveLength(1);
  });

  it('rasket inbox forward sends a thread on with its email', async () => {
    const { threadId } = await inbox.arrive({ subject: 'Pass it on' });
    const words = ['forward', inbox.address, threadId, '--to', 'accounts@example.com', '--text', 'Please refund.'];
    expect(await rasket(words)).toMatchObject({ code: 0 });
    expect((await sentFrom())[0]).toMatchObject({ to: ['accounts@example.com'], subject: 'Fwd: Pass it on' });
  });
});

function failure(status: number, name: string): string {
  const body = JSON.stringify({ statusCode: status, name, message: 'It went wrong.' });
  return `HTTP/1.1 ${status} X\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\nconnection: close\r\n\r\n${body}`;
}

/** A way to the server on which every answer to an answer is lost, or another one comes in its place. */
async function losingLine(url: string, instead?: string): Promise<{ url: string } & AsyncDisposable> {
  const server = net.createServer((near) => {
    const far = net.connect(Number(new URL(url).port), '127.0.0.1');
    let isLosing = false;
    near.on('data', (chunk) => {
      isLosing ||= /^POST \S+\/reply /.test(chunk.toString('latin1'));
      far.write(chunk);
    });
    far.on('data', (chunk) => {
      if (!isLosing) near.write(chunk);
      else if (instead === undefined) near.destroy();
      else near.end(instead);
    });
    for (const [one, other] of [
      [near, far],
      [far, near],
    ] as const)
      one.on('error', () => undefined).on('close', () => other.destroy());
  });
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as net.AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    [Symbol.asyncDispose]: () => new Promise((resolve) => void server.close(() => resolve())),
  };
}
