import fs from 'node:fs';
import { Resolver } from 'node:dns/promises';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { openDialogue } from '../rig/smtp-dialogue.ts';
import { Desk } from './desk.ts';

vi.setConfig({ testTimeout: 240_000 });

let desk: Desk;
beforeEach(() => {
  desk = new Desk();
});
afterEach(() => desk.clear());

describe('rasket simulate', () => {
  it('lists the profiles with a line for each', async () => {
    const { code, stdout } = await desk.run(['simulate']);
    expect(code).toBe(0);
    for (const name of ['blocklisted', 'greylisting', 'outage', 'raspberry-pi', 'realistic', 'strict'])
      expect(stdout).toMatch(new RegExp(`^${name} +\\S.{20,}$`, 'm'));
  });

  it('sends a broadcast and transactional mail to a small slow server, reports, and leaves nothing', async () => {
    const temporary = desk.at('tmp');
    fs.mkdirSync(temporary);
    const { code, stdout, stderr } = await desk.run(
      ['simulate', 'raspberry-pi', '--messages', '20', '--speed', '20', '--minutes', '600', '--json'],
      { env: { TMPDIR: temporary, RASKET_DATABASE_DRIVER: 'pg', RASKET_DELIVERY_RELAY: 'real' } },
    );
    expect([code, stderr]).toEqual([0, '']);
    const report = JSON.parse(stdout);
    expect(report).toMatchObject({
      profile: 'raspberry-pi',
      messages: 20,
      transactional: 1,
      speed: 20,
      is_complete: true,
      held: null,
      waiting: [],
      duplicates: 0,
      reports_to_come: 0,
    });
    const [row] = report.providers;
    expect(row).toMatchObject({ provider: 'small-server', receivers: 1, recipients: 21, waiting: 0 });
    expect(row.accepted + row.bounced).toBe(21);
    expect(report.outcomes).toEqual({ delivered: row.accepted, ...(row.bounced > 0 && { bounced: row.bounced }) });
    expect(report.suppressed.bounces).toBe(row.bounced);
    expect(row.max_messages_per_minute).toBeLessThanOrEqual(30);
    expect(fs.readdirSync(temporary)).toEqual([]);
  });

  it('waits for greylists in simulated time and says what each provider saw', async () => {
    const { code, stdout, stderr } = await desk.run([
      'simulate',
      'greylisting',
      '--messages',
      '20',
      '--speed',
      '100',
      '--minutes',
      '9999',
    ]);
    expect([code, stderr]).toEqual([0, '']);
    expect(stdout).toMatch(/^It took (?:[5-9]|\d\d+) min \d+ s of simulated time \(\d+ s at 100 times the speed\)/m);
    expect(stdout).toMatch(/^greylisting-server: \d+ greylist/m);
    expect(stdout).toMatch(/^mimecast: \d+ greylist/m);
    expect(stdout).toContain('Delivered twice: 0\n');
    expect(stdout).toContain('Nothing is waiting.\n');
  });

  it('rehearses a profile of a file with settings of a file, and ends after its minutes with what still waits', async () => {
    desk.write(
      'mine.toml',
      `summary = "a server that is always busy"
[providers.mine]
hosts = ["mx.mine.example"]
tempfail = [{ stage = "rcpt", reply = "451 4.3.0 Busy" }]
[[domains]]
name = "mine.example"
provider = "mine"
share = 1
`,
    );
    desk.write('settings.toml', '[delivery]\nretry_minutes = [1]\n');
    const { code, stdout } = await desk.run([
      'simulate',
      './mine.toml',
      '--config',
      'settings.toml',
      '--messages',
      '3',
      '--minutes',
      '10',
      '--speed',
      '20',
    ]);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^It was ended, with mail still waiting, after /m);
    expect(stdout).toMatch(/^mine\.example: 4(?: until [\d:]{8})?: 451 4\.3\.0 Busy$/m);
  });

  it('rasket simulate --listen starts only the mail servers and DNS, and shows in the end what the receivers saw', async () => {
    const running = desk.start(desk.at('path/rasket'), ['simulate', 'realistic', '--listen']);
    await vi.waitFor(() => expect(running.stdout).toContain('Ctrl-C stops it'));
    const setting = (name: string): string => new RegExp(`${name}=(\\S+)`).exec(running.stdout)?.[1] ?? '';
    const resolver = new Resolver();
    resolver.setServers([setting('RASKET_DNS_SERVERS')]);
    const [mx] = await resolver.resolveMx('gmx.net');
    const [address = ''] = await resolver.resolve4(mx?.exchange ?? '');
    const dialogue = await openDialogue(Number(setting('RASKET_DELIVERY_SMTP_PORT')), address);
    expect(await dialogue.hear()).toMatch(/^220 mx0\d\.gmx\.net Nemesis/);
    dialogue.end();
    running.kill('SIGINT');
    const { code, stdout } = await running.ended;
    expect(code).toBe(0);
    expect(stdout).toMatch(/^gmx +0 +0 +0 +0 +0 +1 +0$/m);
  });

  it.each([
    [['simulate', 'gmial'], '"gmial" is not a profile'],
    [['simulate', './none.toml'], 'there is no file ./none.toml'],
    [['simulate', './wrong.toml'], 'summary: is missing; domains: is missing'],
    [['simulate', 'realistic', '--speed', '0'], 'It must be a whole number from 1 to 100.'],
  ])('%j is wrong usage', async (words, says) => {
    desk.write('wrong.toml', '# nothing\n');
    const { code, stderr } = await desk.run(words);
    expect([code, stderr]).toEqual([64, expect.stringContaining(says)]);
  });
});
