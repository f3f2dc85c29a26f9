import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { startDns } from '../rig/dns.ts';
import { startWebhookReceiver, type WebhookReceiver } from '../rig/webhook-receiver.ts';
import { Desk, expectOneLine, type Server } from './desk.ts';

vi.setConfig({ testTimeout: 180_000 });

let desk: Desk;
let env: Record<string, string>;
beforeEach(async () => {
  desk = new Desk();
  env = await desk.database();
});
afterEach(() => desk.clear());

interface Listed {
  data: { id: string; last_event: string }[];
}

/** A development server, and somebody's endpoint that it trusts and may reach. */
async function serveBeside(): Promise<{ receiver: WebhookReceiver; server: Server }> {
  const receiver = await startWebhookReceiver();
  onTestFinished(() => receiver.close());
  const dns = await startDns({});
  onTestFinished(() => dns.close());
  receiver.publishIn(dns);
  const trust = {
    NODE_EXTRA_CA_CERTS: desk.write('receiver.pem', receiver.certificate.cert),
    RASKET_NETWORK_HTTP_ALLOW_PRIVATE: '127.0.0.2/32',
    RASKET_DNS_SERVERS: dns.server,
  };
  return { receiver, server: await desk.serve(['dev', '--data', 'try'], { env: { ...env, ...trust } }) };
}

describe('rasket seed', () => {
  it('fills a running development server with a month of mail, once', async () => {
    const server = await desk.serve(['dev', '--data', 'try'], { env });
    const json = async <T>(...words: string[]): Promise<T> => {
      const ended = await desk.rasket([...words, '--data', 'try', '--json'], { env });
      expect(ended, ended.stderr).toMatchObject({ code: 0 });
      return JSON.parse(ended.stdout) as T;
    };
    const made = await json<{ emails: number; contacts: number; received: number }>('seed');
    expect(made).toMatchObject({ contacts: 120, received: 5 });
    expect(made.emails).toBeGreaterThan(1500);

    // Each state that an email can end in.
    // One page to a line.
    const allEmails = async (): Promise<Listed['data']> => {
      const { stdout } = await desk.rasket(['emails', 'list', '--all', '--data', 'try', '--json'], { env });
      const pages = stdout.trimEnd().split('\n');
      return pages.flatMap((page) => (JSON.parse(page) as Listed).data);
    };
    const data = await allEmails();
    expect(data).toHaveLength(made.emails + 3);
    const ends = ['delivered', 'opened', 'clicked', 'bounced', 'complained', 'failed', 'suppressed', 'canceled'];
    expect([...new Set(data.map((email) => email.last_event))]).toEqual(expect.arrayContaining([...ends, 'scheduled']));
    // Nothing of it is in the queue, so that nothing of it waits.
    const waits = ['queued', 'sent', 'delivery_delayed'];
    expect(data.filter((email) => waits.includes(email.last_event))).toEqual([]);
    expect(data.filter((email) => email.last_event === 'scheduled')).toHaveLength(3);
    const bounced = data.find((email) => email.last_event === 'bounced')?.id ?? '';
    const told = await desk.rasket(['explain', bounced, '--data', 'try'], { env });
    expect([told.code, told.stdout]).toEqual([0, expect.stringMatching(/55[02] 5\.[12]\.[12]/)]);

    const { totals } = await json<{ totals: { sent: number; bounced: number } }>(
      'metrics',
      '--metrics',
      'sent,bounced',
    );
    expect(totals.sent).toBeGreaterThan(totals.bounced);
    expect(totals.bounced).toBeGreaterThan(0);
    for (const family of ['suppressions', 'contacts', 'segments', 'topics', 'templates', 'webhooks', 'received']) {
      expect((await json<Listed>(family, 'list')).data.length, family).toBeGreaterThan(0);
    }
    expect((await json<Listed>('domains', 'list')).data).toHaveLength(3);
    const [hook] = (await json<Listed>('webhooks', 'list')).data;
    const failed = await json<Listed>('webhooks', 'events', hook?.id ?? '', '--status', 'failed');
    expect(failed.data).toHaveLength(6);
    const tries = await json<Listed>('webhooks', 'attempts', hook?.id ?? '', failed.data[0]?.id ?? '');
    expect(tries.data).toMatchObject([{ http_status_code: 404 }, { http_status_code: 502 }, { http_status_code: 502 }]);
    const threads = await json<Listed>('inbox', 'threads', 'support@shop.example.com');
    expect(threads.data).toHaveLength(5);
    const [automation] = (await json<Listed>('automations', 'list')).data;
    const runs = await json<{ data: { status: string }[] }>('automations', 'runs', automation?.id ?? '');
    expect(runs.data.map(({ status }) => status)).toEqual(Array.from({ length: 12 }, () => 'running'));
    const broadcasts = await json<{ data: { status: string }[] }>('broadcasts', 'list');
    expect(broadcasts.data.map(({ status }) => status)).toEqual(['scheduled', 'draft', 'sent']);
    const { counts } = await json<{ counts: Record<string, number> }>('broadcasts', 'get', 'Our autumn colors');
    for (const count of ['sent', 'delivered', 'opened', 'clicked', 'bounced'])
      expect(counts[count], count).toBeGreaterThan(0);
    expect(counts['sent']).toBeGreaterThan(80);
    const links = await json<{ data: { unique_clicks: number }[] }>('broadcasts', 'links', 'Our autumn colors');
    expect(links.data[0]?.unique_clicks).toBe(counts['clicked']);

    expect(await json('seed')).toEqual({ emails: 0, contacts: 0, received: 0 });
    expect(await allEmails()).toHaveLength(data.length);
    const atTerminal = await desk.type("script -qec 'NO_COLOR=1 rasket seed' /dev/null", {
      env: { ...env, RASKET_DATA: desk.at('try') },
    });
    expect(atTerminal.stdout).toContain(`On ${desk.at('try')} (RASKET_DATA)`);
    await server.stop();
  });

  it('adds to the data of a team, and sends its events to no webhook and no listener by default', async () => {
    const { receiver, server } = await serveBeside();
    const run = async (...words: string[]): Promise<string> => {
      const ended = await desk.rasket([...words, '--data', 'try'], { env });
      expect(ended, ended.stderr).toMatchObject({ code: 0 });
      return ended.stdout;
    };
    await run('segments', 'create', 'Mine');
    const draft = ['--from', 'a@playground.test', '--subject', 'Mine', '--segment', 'Mine', '--html', 'x'];
    await run('broadcasts', 'create', ...draft);
    await run('events', 'create', 'mine');
    const steps = '[{"key": "start", "type": "trigger", "config": {"event_name": "mine"}}]';
    await run('automations', 'create', 'Mine', '--steps', steps, '--connections', '[]');
    const disabled = await run('webhooks', 'create', receiver.url('/disabled'), '--events', 'all');
    await run('webhooks', 'update', disabled.split('\t')[0] ?? '', '--status', 'disabled');
    await run('webhooks', 'create', receiver.url('/hook'), '--events', 'all');
    const listening = desk.start(desk.at('path/rasket'), ['webhooks', 'listen', '--data', 'try'], { env });
    await vi.waitFor(() => expect(listening.stdout).toContain('Signing secret'));

    expect(await run('seed')).toMatch(
      /^The webhooks and listeners of the team were not notified; use --tell-webhooks to notify them\.$/m,
    );
    expect(await run('broadcasts')).toMatch(/Before the holidays[^]*Mine|Mine[^]*Before the holidays/);
    expect(await run('automations')).toMatch(/Thanks after an order/);
    // A real event would arrive after any that was sent before it.
    await run('suppressions', 'add', 'real@example.com');
    await receiver.until(1);
    await vi.waitFor(() => expect(listening.stdout).toContain('suppression.added'));
    expect(receiver.requests.map(({ path, payload }) => [path, payload.type])).toEqual([
      ['/hook', 'suppression.added'],
    ]);
    expect(receiver.requests[0]?.body).toContain('real@example.com');
    expect(listening.stdout.match(/^[a-z]+\.\w+\t/gm)).toEqual(['suppression.added\t']);
    const parked = await run('webhooks', 'parked', disabled.split('\t')[0] ?? '', '--json');
    expect((JSON.parse(parked) as Listed).data).toHaveLength(1);
    // Its own endpoint has something to show.
    const { data } = JSON.parse(await run('webhooks', 'list', '--json')) as {
      data: { id: string; endpoint: string }[];
    };
    const own = data.find(({ endpoint }) => !endpoint.startsWith(receiver.url('/')))?.id ?? '';
    expect((JSON.parse(await run('webhooks', 'parked', own, '--json')) as Listed).data.length).toBeGreaterThan(0);

    await run('webhooks', 'delete', data.find(({ endpoint }) => endpoint === receiver.url('/hook'))?.id ?? '', '--yes');
    await server.stop();
  });

  it('sends its events to webhooks on request', async () => {
    const { receiver, server } = await serveBeside();
    const at = { env };
    const words = ['webhooks', 'create', receiver.url('/hook'), '--events', 'email.bounced', '--data', 'try'];
    expect((await desk.rasket(words, at)).code).toBe(0);
    expect((await desk.rasket(['seed', '--tell-webhooks', '--data', 'try'], at)).code).toBe(0);
    const requests = await receiver.until(20);
    expect(new Set(requests.map(({ payload }) => payload.type))).toEqual(new Set(['email.bounced']));
    await server.stop();
  });

  it('refuses every folder except one of a development server', async () => {
    const made = await desk.rasket(['init', '--data', 'real', '--json'], { env });
    expect(made).toMatchObject({ code: 0 });
    expectOneLine(
      await desk.rasket(['seed', '--data', 'real'], { env }),
      /is not a data folder of a development server/,
    );
    expectOneLine(await desk.rasket(['seed', '--data', 'nowhere'], { env }), /rasket dev --data nowhere/);
  });
});
