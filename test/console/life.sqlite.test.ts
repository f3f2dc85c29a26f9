import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { root } from '../cli/desk.ts';
import { startScene, type Scene, type Team } from '../rig/scene.ts';
import { startAnswering } from '../cli/contract-server.ts';
import { execFile } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import { Screen } from './screen.ts';
import { describeAtTerminal, Seat, startLine } from './seat.ts';

const run = promisify(execFile);
const SECTIONS = ['emails', 'domains', 'keys', 'suppressions', 'webhooks', 'received', 'templates', 'logs', 'contacts'];
const IS_THERE = 'received mail';

let scene: Scene;
let team: Team;
beforeAll(async () => {
  scene = await startScene();
  team = await scene.team('Example');
  await team.domain('mail.example.com');
});
afterAll(() => scene?.close());

const send = (subject: string) =>
  scene.api('POST', '/emails', {
    key: team.key,
    body: { from: 'hello@mail.example.com', to: 'ada@example.org', subject, text: 'T' },
  });

describe('the console and its server', () => {
  it.each([
    ['an empty list', 200, { object: 'list', has_more: false, data: [] }],
    ['a list of nothing known', 200, { object: 'list', has_more: false, data: [{}] }],
    ['null', 200, null],
    ['a refusal without a name', 500, { wrong: true }],
  ])('survive %s as the response to everything', async (_, status, body) => {
    const server = await startAnswering(() => ({ status, body }));
    await using seat = await Screen.take({ url: server.url, key: 'rk_x' });
    await seat.sees(/^ overview/m, status === 200 ? 'does not run rasket: another program listens' : server.url);
    for (const [at, name] of SECTIONS.entries()) {
      await seat.press(String((at + 2) % 10));
      await seat.sees(new RegExp(`^ ${name}`, 'm'));
      await seat.press('Enter', 'Down', 'r', 'y', 'Right');
    }
    await seat.press('1');
    await seat.sees(/^ overview/m);
    await seat.press('q');
    await seat.isLeft();
    server.close();
  });

  it('continue when another program gives the port back to rasket', async () => {
    let isStrange = false;
    const server = await startAnswering(async ({ path, query }) => {
      if (isStrange) return { status: 200, body: { object: 'list', has_more: false, data: [] } };
      const asked = new URLSearchParams(query).toString();
      const answer = await scene.api('GET', `${path}${asked === '' ? '' : `?${asked}`}`, { key: team.key });
      return { status: answer.status, body: answer.body as unknown };
    });
    await using seat = await Screen.take({ url: server.url, key: team.key });
    await seat.sees(IS_THERE);
    isStrange = true;
    await seat.press('r');
    await seat.sees('does not run rasket: another program listens');
    isStrange = false;
    await seat.press('r');
    await seat.sees('✓ ready', IS_THERE);
    server.close();
  });

  it('show new events without a key press', async () => {
    await using seat = await Screen.take({ url: scene.url, key: team.key });
    await seat.sees(IS_THERE);
    await seat.press('2');
    await seat.sees(/^ emails/m);
    await send('While you look');
    await seat.sees(/^› .*While you look/m);
    await scene.settled();
    await seat.sees(/✓ delivered.*While you look/);
  });

  it('show an outage, keep the data, and continue after it', async () => {
    await send('Kept');
    const line = await startLine(scene.url);
    await using seat = await Screen.take({ url: line.url, key: team.key });
    await seat.sees('✓ connected', /Server +✓ ready/, IS_THERE);
    await line.cut();
    await seat.press('r');
    await seat.sees('✗ no response since', /Server +as of \d\d:\d\d:\d\d: ✓ ready/);
    await line.mend();
    await seat.press('r');
    await seat.sees('✓ connected', /Server +✓ ready/);
    await seat.press('2');
    await seat.sees('Kept');
    await line.cut();
    await seat.sees('✗ no response since', 'retrying', 'Kept');
    await send('Meanwhile');
    await line.mend();
    await seat.sees('✓ connected', 'Meanwhile');
    await line.cut();
    await seat.sees('✗ no response since');
    // It shows nothing of the server.
    await seat.press(':');
    await seat.type('account');
    await seat.press('Enter');
    await seat.sees('✗ no response since', 'API keys have no access');
    await line.mend();
    await seat.sees('✓ connected', 'API keys have no access');
    line.close();
  });

  it('keep a form through an outage, and end its message afterwards', async () => {
    const line = await startLine(scene.url);
    await using seat = await Screen.take({ url: line.url, key: team.key, columns: 60 });
    // The text after it has no room in so few columns.
    await seat.sees('✓ connected', 'emails today');
    await seat.press('4');
    await seat.sees(/^ keys/m, 'rk_');
    await seat.press('c');
    await seat.sees('create: create a key');
    await seat.type('Typed once');
    await line.cut();
    await seat.sees('✗ no response since');
    await seat.press('Up', 'Enter');
    const told = await seat.sees(
      'create: create a key',
      'Typed once',
      'No server is listening at',
      /a\s+development\s+server/,
    );
    expect(told.match(/No server is listening at/g)).toHaveLength(1);
    await line.mend();
    const frame = await seat.sees('✓ connected', /^(?![^]*No server is listening)/);
    expect(frame).toContain('Typed once');
    await seat.press('Enter');
    await seat.sees('This is the only time the key is shown');
    const { data } = (await scene.api('GET', '/api-keys?search=Typed', { key: team.key })).body;
    expect(data).toHaveLength(1);
    line.close();
  });

  it('do not take Enter as the answer to a yes-or-no question', async () => {
    await using seat = await Screen.take({ url: scene.url, key: team.key });
    await seat.sees(IS_THERE);
    await seat.press('3');
    await seat.sees('mail.example.com');
    await seat.press('v');
    await seat.sees('y confirm   n cancel');
    await seat.press('Enter');
    await seat.sees('Press y to confirm or n to cancel.');
    await seat.press('n');
    await seat.sees(/^(?![^]*y confirm)/);
  });
});

describeAtTerminal('the console and its terminal', () => {
  it.each([
    ['q', 0],
    ['C-c', 0],
  ])('restore the terminal after %s', async (key, status) => {
    await using seat = await Seat.take({ url: scene.url, key: team.key });
    await seat.sees(IS_THERE);
    expect(await seat.modes()).toEqual({ alternate: true, cursor: false, wraps: false });
    await seat.press(key);
    await seat.isGivenBack(status);
  });

  it.each([
    ['SIGTERM', 143],
    ['SIGHUP', 129],
  ] as const)('restore the terminal after %s', async (signal, status) => {
    await using seat = await Seat.take({ url: scene.url, key: team.key });
    await seat.sees(IS_THERE);
    process.kill(await seat.pid(), signal);
    await seat.isGivenBack(status);
  });

  it('restore the terminal and report the error after a crash', async () => {
    const preload = "process.on('SIGUSR2', () => { throw new Error('a planted fault'); });\n";
    await using seat = await Seat.take({ url: scene.url, key: team.key, preload });
    await seat.sees(IS_THERE);
    process.kill(await seat.pid(), 'SIGUSR2');
    expect(await seat.isGivenBack(1)).toContain('a planted fault');
  });

  it('report a defect of the console as one, save its trace, and continue', async () => {
    const preload = `const { padEnd } = String.prototype;
String.prototype.padEnd = function (...given) {
  if (String(this) === '24 h ago' || String(this) === 'c') throw new TypeError('a planted defect');
  return padEnd.apply(this, given);
};\n`;
    await using seat = await Seat.take({ url: scene.url, key: team.key, columns: 120, preload });
    await seat.sees('This is a bug in the console, not in the server (a planted defect).', '.local/state/rasket/');
    await seat.press('3');
    await seat.sees('mail.example.com');
    await seat.press('x');
    await seat.sees('a planted defect');
    await seat.press('Escape', '2');
    await seat.sees(/^ emails/m);
    const trace = fs.readFileSync(path.join(seat.folder, '.local/state/rasket/console.log'), 'utf8');
    expect(trace.match(/TypeError: a planted defect\n {4}at /g)).toHaveLength(2);
    expect(trace).toContain('console/screens/overview-screen.ts');
    await seat.press('q');
    await seat.isGivenBack(0);
  });

  it('do not keep anybody from leaving a screen when the server is slow', async () => {
    const line = await startLine(scene.url);
    await using seat = await Seat.take({ url: line.url, key: team.key });
    await seat.sees(IS_THERE);
    line.hold();
    await seat.press('9');
    await seat.sees(/^ logs/m, 'Loading …');
    await seat.press('?');
    await seat.sees('Navigation');
    await seat.press('Escape', '3');
    await seat.sees(/^ domains/m, 'Loading …');
    await seat.press('q');
    await seat.isGivenBack(0);
    line.close();
  });

  it('understand the keys a terminal sends for moving, opening, going back, completing, filling in and copying', async () => {
    await send('The first');
    await send('The second');
    await scene.settled();
    await using seat = await Seat.take({ url: scene.url, key: team.key, columns: 100, rows: 30 });
    await seat.sees(IS_THERE);
    await seat.press('2');
    await seat.sees(/^› .*The second/m);
    await seat.press('Down', 'Up', 'Down');
    await seat.sees(/^› .*The first/m);
    await seat.press('Enter');
    await seat.sees('emails › The first', 'The first delivery started');
    await seat.press('Right');
    await seat.sees(/^ emails › The first/m);
    await seat.press('Escape');
    await seat.sees(/^› .*The first/m);
    await seat.type(':ke');
    await seat.press('Tab');
    await seat.sees(/^ :keys/m);
    await seat.press('Enter');
    await seat.sees(/^ keys/m, 'rk_');
    await seat.press('c');
    await seat.sees('create: create a key', 'name *');
    await seat.type('Termimal');
    await seat.press('BSpace', 'BSpace', 'BSpace');
    await seat.type('nal');
    await seat.press('C-s');
    const frame = await seat.sees('This is the only time the key is shown');
    await seat.press('y');
    await seat.sees('Copied to the clipboard');
    const token = await seat.clipboard();
    expect(frame).toContain(token);
    const { data } = (await scene.api('GET', '/api-keys?search=Terminal', { key: token })).body;
    expect(data).toHaveLength(1);
    await scene.api('DELETE', `/api-keys/${data[0].id}`, { key: team.key });
  });

  it('follow the size of the terminal, even one that is too small', async () => {
    await using seat = await Seat.take({ url: scene.url, key: team.key });
    await seat.sees(IS_THERE);
    await seat.resize(200, 50);
    await seat.sees(
      /0 contacts {2}metrics {2}account {2}ai {2}approvals {2}audit {2}automations {2}billing {2}plans {2}broadcasts /,
    );
    await seat.resize(30, 8);
    await seat.sees('The console needs');
    await seat.resize(80, 24);
    const frame = await seat.sees(IS_THERE);
    expect(frame.split('\n')[0]).toMatch(/^ rasket .*✓ connected$/);
  });

  it('use no colors when these are disabled', async () => {
    await using seat = await Seat.take({ url: scene.url, key: team.key, env: { NO_COLOR: '1' } });
    await seat.sees(IS_THERE);
    const sgr = [...(await seat.frame(true)).matchAll(/\u001B\[([\d;]*)m/g)].flatMap(([, codes = '']) =>
      codes.split(';'),
    );
    expect([...new Set(sgr)].filter((code) => /^(3|4|9|10)[0-8]$/.test(code))).toEqual([]);
  });

  it('keep lines aligned for characters whose width terminals count differently', async () => {
    const texts = {
      Hindi: 'हिन्दी में एक विषय, क्योंकि हिन्दी',
      'Korean in single letters': '\u1112\u1161\u11AB\u1100\u1173\u11AF',
      emoji: '👨‍👩‍👧‍👦 🇩🇪 ✈️ 🏳️‍🌈 1️⃣',
      'Japanese in parts': 'か\u3099き\u3099〈日本語〉',
    };
    await using seat = await Seat.take({ url: scene.url, key: team.key });
    await seat.sees(IS_THERE);
    for (const [what, text] of Object.entries(texts)) {
      const { id } = (await send(`${text} `.repeat(8))).body;
      await scene.settled();
      await seat.type(`:emails ${id}`);
      await seat.press('Enter');
      const opened = await seat.sees('timeline', 'ada@example.org', 'Accepted, and queued.');
      await seat.press('Escape');
      const listed = await seat.sees(/^› /m, 'SUBJECT');
      for (const frame of [opened, listed]) {
        const lines = frame.split('\n');
        expect([lines[0], lines[1], lines[23]], what).toEqual([
          expect.stringMatching(/^ rasket /),
          expect.stringMatching(/overview/),
          expect.stringMatching(/^ \? (?:more|keys) /),
        ]);
        expect(
          lines.filter((line) => line.trim() === '…'),
          what,
        ).toEqual([]);
      }
    }
  });

  it('remove control characters from untrusted text', async () => {
    const evil = '\u001B[2J\u001B]0;owned\u0007\u009B31m\u202Egnp.exe';
    const email = {
      object: 'email',
      id: '019a9c1e-7d52-7c3a-9a54-0b8f4c1f2e77',
      created_at: '2026-01-01T00:00:00.000Z',
      last_event: 'delivered',
      to: [evil],
      from: evil,
      subject: `Hello ${evil}`,
      tags: [],
      cc: [],
      bcc: [],
      reply_to: [],
    };
    const server = await startAnswering(({ path }) =>
      path === '/emails' ? { status: 200, body: { object: 'list', has_more: false, data: [email] } } : 'hang up',
    );
    await using seat = await Seat.take({ url: server.url, key: 'rk_x' });
    await seat.sees('no response since');
    await seat.press('2');
    const frame = await seat.sees('Hello ');
    expect(frame).toContain('�[2J�]0;owned');
    expect((await seat.tmux('display', '-p', '-t', 'seat', '#{pane_title}')).trim()).not.toContain('owned');
    server.close();
  });

  it('say what to do without a terminal', async () => {
    const env = { PATH: process.env.PATH, RASKET_URL: scene.url, RASKET_API_KEY: team.key };
    const ended = await run('sh', [`${root}/bin/rasket`, 'console'], { env }).catch((error: unknown) => error);
    expect(ended).toMatchObject({
      code: 64,
      stderr: expect.stringContaining('the console needs a terminal') as string,
    });
  });
});
