import fs from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { buildGif, buildPng } from '../rig/pictures.ts';
import { Desk, type Surroundings } from './desk.ts';

vi.setConfig({ testTimeout: 180_000, hookTimeout: 180_000 });

let desk: Desk;
beforeAll(async () => {
  desk = new Desk();
  await desk.serve(['dev', '--data', 'data']);
  desk.write('logo.png', buildPng(60, 20));
  desk.write('dot.gif', buildGif(1, 1));
});
afterAll(() => desk.clear());

const rasket = (words: string[], around?: Surroundings) => desk.rasket([...words, '--data', 'data'], around);
const json = async (...words: string[]) => {
  const { code, stdout, stderr } = await rasket([...words, '--json']);
  expect([code, stderr]).toEqual([0, '']);
  return JSON.parse(stdout);
};
const draft = async (...more: string[]): Promise<string> =>
  (await json('broadcasts', 'create', '--from', 'News <news@playground.test>', '--subject', 'Hello', ...more)).id;

it('uploaded images have an address each, and the same bytes again are the same image', async () => {
  const first = await rasket(['images', 'upload', 'logo.png', 'dot.gif']);
  const rows = first.stdout.trimEnd().split('\n');
  expect(rows.map((row) => row.replace(/\t.*\./, ' '))).toEqual([
    expect.stringMatching(/^[0-9a-f-]{36} png$/),
    expect.stringMatching(/^[0-9a-f-]{36} gif$/),
  ]);
  const [id = '', address = ''] = (rows[0] ?? '').split('\t');
  expect(Buffer.from(await (await fetch(address)).arrayBuffer()).equals(buildPng(60, 20))).toBe(true);
  expect(await json('images', 'upload', 'logo.png')).toMatchObject({ object: 'image', id, url: address, width: 60 });
  expect((await json('images', 'list')).data).toHaveLength(2);
  expect((await rasket(['images', 'get', id])).stdout).toContain(address);
});

it('a file that is not an image is refused by name, and the files before it are uploaded', async () => {
  desk.write('page.svg', '<svg xmlns="http://www.w3.org/2000/svg"/>');
  desk.write('new.png', buildPng(2, 2));
  const { code, stdout, stderr } = await rasket(['images', 'upload', 'new.png', 'page.svg', 'logo.png']);
  expect([code, stdout.trimEnd().split('\n')]).toEqual([65, [expect.stringMatching(/\.png$/)]]);
  expect(stderr).toMatch(/^rasket: "page\.svg" was not uploaded\.\nrasket: .*not a PNG, JPEG, GIF or WebP image/);
  const gone = await rasket(['images', 'upload', 'nowhere.png']);
  expect([gone.code, gone.stderr]).toEqual([1, expect.stringMatching(/there is no such file/)]);
});

it('an image is deleted with --yes, and one that is used in mail needs --force as well', async () => {
  const { id, url } = await json('images', 'upload', 'dot.gif');
  expect((await rasket(['images', 'delete', id])).code).toBe(64);
  const address = ['--line1', '1 Mail Street', '--city', 'Berlin', '--postal-code', '10115', '--country', 'DE'];
  const updated = await rasket(['team', 'update', ...address]);
  expect([updated.code, updated.stderr]).toEqual([0, '']);
  const { id: segment } = await json('segments', 'create', 'Readers');
  await draft('--segment', segment, '--text', `See ${url}`, '--send', '--at', 'in 2 hours');
  const refused = await rasket(['images', 'delete', id, '--yes']);
  expect([refused.code, refused.stderr]).toEqual([65, expect.stringMatching(/show this image: "Hello"/)]);
  expect((await rasket(['images', 'delete', id, '--yes', '--force'])).code).toBe(0);
  expect((await fetch(url)).status).toBe(404);
});

it('rasket broadcasts preview prints text for one contact, by id or address', async () => {
  const { id: contact } = await json('contacts', 'create', 'ada@example.org', '--first-name', 'Ada');
  const id = await draft('--html', '<p>Hello {{{FIRST_NAME|friend}}} {{{PLAN}}}</p>', '--preview-text', 'For you');
  const shown = await rasket(['broadcasts', 'preview', id, '--contact', 'ada@example.org']);
  const lines = shown.stdout.split('\n');
  expect([shown.code, lines.slice(0, 5), lines.some((line) => line.startsWith('Hello Ada'))]).toEqual([
    0,
    [
      'From: News <news@playground.test>',
      'To: ada@example.org',
      'Subject: Hello',
      'Preview: For you',
      'Empty, because they have neither a value nor a default: PLAN',
    ],
    true,
  ]);
  expect((await rasket(['broadcasts', 'preview', id, '--contact', contact])).stdout).toBe(shown.stdout);
  expect((await rasket(['broadcasts', 'preview', id])).stdout).toContain('Hello Alex');
});

it('rasket broadcasts preview --open writes a private HTML file without scripts, and opens it on a desktop', async () => {
  const id = await draft('--html', '<script>alert("1")</script><p>Hello & welcome</p>');
  const open = (env: Surroundings['env']) =>
    rasket(['broadcasts', 'preview', id, '--open'], { env: { TMPDIR: desk.folder, ...env } });
  const file = (await open({ DISPLAY: undefined, WAYLAND_DISPLAY: undefined })).stdout.trim();
  expect(path.dirname(path.dirname(file))).toBe(desk.folder);
  expect([fs.statSync(file).mode & 0o777, fs.statSync(path.dirname(file)).mode & 0o777]).toEqual([0o600, 0o700]);
  const page = fs.readFileSync(file, 'utf8');
  expect(page).toMatch(/<meta http-equiv="Content-Security-Policy" content="default-src 'none'; /);
  expect(page).not.toMatch(/script-src|allow-scripts|<script/);
  expect(page).toContain('<iframe sandbox title="The mail" srcdoc="&lt;script&gt;alert(&quot;1&quot;)');
  // A desktop whose opener says what it was given.
  const opener = desk.write('desktop/xdg-open', '#!/bin/sh\nprintf %s "$1" > "$SAID.part"; mv "$SAID.part" "$SAID"\n');
  fs.chmodSync(opener, 0o755);
  const said = desk.at('said');
  const watcher = fs.watch(desk.folder);
  const isSaid = new Promise<void>((resolve) => watcher.on('change', () => fs.existsSync(said) && resolve()));
  const bin = `${path.dirname(opener)}:${process.env['PATH']}`;
  const opened = await open({ DISPLAY: ':0', SAID: said, PATH: bin });
  await isSaid;
  watcher.close();
  expect(fs.readFileSync(said, 'utf8')).toBe(opened.stdout.trim());
});

it('rasket broadcasts test sends to the named addresses, and prints the email ids', async () => {
  const id = await draft('--text', 'Hello');
  const sent = await rasket(['broadcasts', 'test', id, '--to', 'me@example.org', '--to', 'you@example.org']);
  const ids = sent.stdout.trimEnd().split('\n');
  expect([sent.code, ids.length]).toEqual([0, 2]);
  expect(await json('emails', 'get', ids[0] ?? '')).toMatchObject({ to: ['me@example.org'], subject: '[Test] Hello' });
  expect((await rasket(['broadcasts', 'test', id])).code).toBe(64);
});
