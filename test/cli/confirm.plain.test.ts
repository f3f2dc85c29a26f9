import { spawnSync } from 'node:child_process';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { startAnswering, type Asked, type Reply } from './contract-server.ts';
import { Desk } from './desk.ts';
import { speak } from './spoken.ts';

vi.setConfig({ testTimeout: 180_000 });

const ID = '019a9c1e-7d52-7c3a-9a54-0b8f4c1f2e77';
const HOOK = 'wh_019a9c1e7d527c3a9a540b8f4c1f2e01';

const domain = { object: 'domain', id: ID, name: 'mail.example.com', status: 'verified', records: [] };
const capabilities = { sending: 'enabled', receiving: 'disabled' };

function answer({ method, path }: Asked): Reply {
  if (method !== 'GET')
    return { status: 200, body: { ...domain, capabilities, deleted: true, data: [{ id: 'sup_1' }] } };
  if (path === `/domains/${ID}`) return { status: 200, body: { ...domain, capabilities } };
  if (path === '/domains') return { status: 200, body: { object: 'list', has_more: false, data: [domain] } };
  if (path === '/api-keys') {
    const keys = [ID.replace('77', '78'), ID].map((id) => ({ id, name: id === ID ? 'Billing service' : 'Other' }));
    return { status: 200, body: { object: 'list', has_more: false, data: keys } };
  }
  const template = { id: ID, alias: 'order', name: 'Order confirmation' };
  if (path === '/templates') return { status: 200, body: { object: 'list', has_more: false, data: [template] } };
  if (path === '/templates/order' || path === `/templates/${ID}`) return { status: 200, body: template };
  return { status: 200, body: { id: HOOK, endpoint: 'https://hooks.example.com:8443/in' } };
}

/** Each of them with what is to be typed, and what it then asks of the API. */
const commands = [
  { words: ['domains', 'delete', ID], typed: 'mail.example.com', done: `DELETE /domains/${ID}` },
  { words: ['domains', 'delete', 'mail.example.com'], typed: 'mail.example.com', done: `DELETE /domains/${ID}` },
  { words: ['domains', 'regenerate', ID], typed: 'mail.example.com', done: `POST /domains/${ID}/dkim/regenerate` },
  { words: ['keys', 'revoke', ID], typed: 'Billing service', done: `DELETE /api-keys/${ID}` },
  { words: ['templates', 'delete', 'order'], typed: 'order', done: 'DELETE /templates/order' },
  { words: ['webhooks', 'delete', HOOK], typed: 'hooks.example.com:8443', done: `DELETE /webhooks/${HOOK}` },
  {
    words: ['suppressions', 'remove', 'a@x.example', 'b@x.example'],
    typed: '2',
    done: 'POST /suppressions/batch/remove',
  },
];

const changesIn = (asked: Asked[]): string[] =>
  asked.filter(({ method }) => method !== 'GET').map(({ method, path }) => `${method} ${path}`);

describe('an irreversible command without a terminal', () => {
  it.each(commands)('is refused with the line that confirms it: $words', async ({ words }) => {
    const { code, stdout, stderr, asked, url } = await speak(words, answer);
    expect({ code, stdout, asked }).toEqual({ code: 64, stdout: '', asked: [] });
    expect(stderr).toBe(
      `rasket: this cannot be undone, and there is no terminal to ask for confirmation; to do it, run: rasket ${words.join(' ')} --url ${url} --yes (with the key of RASKET_API_KEY)\n`,
    );
  });

  it.each(commands)('runs at once with --yes: $words', async ({ words, done }) => {
    const { code, asked } = await speak([...words, '--yes'], answer);
    expect({ code, changes: changesIn(asked) }).toEqual({ code: 0, changes: [done] });
  });

  it('does not include lifting one suppression that was added by hand', async () => {
    const { code, asked } = await speak(['suppressions', 'remove', 'a@x.example'], answer);
    expect({ code, changes: changesIn(asked) }).toEqual({ code: 0, changes: ['DELETE /suppressions/a%40x.example'] });
  });

  it('is refused with a line that is quoted for a shell', async () => {
    const { stderr } = await speak(['templates', 'delete', "it's mine"], answer);
    expect(stderr).toContain(String.raw`rasket templates delete 'it'\''s mine' --url`);
  });

  it('is refused with a line that repeats the server and the options, without the key', async () => {
    const chosen = ['--json', '--url', 'http://127.0.0.1:9', '--api-key', 'rk_secret'];
    const { stderr, asked } = await speak(['templates', 'delete', 'order', ...chosen], answer);
    expect(asked).toEqual([]);
    expect(stderr).toMatch(
      /run: rasket templates delete order --json --url http:\/\/127\.0\.0\.1:9 --yes \(with the key of --api-key\)\n$/,
    );
  });
});

// skipped because a terminal is made by script(1) of util-linux, which is not everywhere
describe.skipIf(spawnSync('script', ['--version']).status !== 0)('an irreversible command at a terminal', () => {
  let desk: Desk;
  let server: Awaited<ReturnType<typeof startAnswering>>;
  beforeEach(async () => {
    desk = new Desk();
    server = await startAnswering(answer);
  });
  afterEach(async () => {
    server.close();
    await desk.clear();
  });

  async function typing(words: string[], typed: string): Promise<{ shown: string; code: number | null }> {
    const env = { RASKET_URL: server.url, RASKET_API_KEY: 'rk_test', NO_COLOR: '1' };
    const running = desk.start('script', ['-qec', ['rasket', ...words].join(' '), '/dev/null'], { isOpen: true, env });
    await vi.waitFor(() => expect(running.stdout).toMatch(/Type .* to do it on http\S+: /));
    expect(changesIn(server.asked)).toEqual([]);
    running.write(typed);
    const { stdout, code } = await running.ended;
    return { shown: stdout, code };
  }

  it.each(commands)('says what it does and runs when $typed is typed: $words', async ({ words, typed, done }) => {
    const { shown, code } = await typing(words, `${typed}\n`);
    expect(shown.replaceAll(/\s+/g, ' ')).toMatch(/^This will [a-z].*\. It cannot be undone\. /);
    expect(shown).toContain(`Type ${typed} to do it on ${server.url}: `);
    expect({ code, changes: changesIn(server.asked) }).toEqual({ code: 0, changes: [done] });
  });

  it.each(['yes\n', '\n', '\u0004'])('changes nothing when %j is typed', async (typed) => {
    const { shown, code } = await typing(['domains', 'delete', ID], typed);
    expect(shown).toContain('rasket: nothing was changed');
    expect({ code, changes: changesIn(server.asked) }).toEqual({ code: 1, changes: [] });
  });
});
