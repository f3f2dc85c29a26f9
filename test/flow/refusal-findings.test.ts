// refusals that the operator or the owner of a domain can end --> findings, until a receiver takes mail again
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startScene, type Scene, type Team } from '../rig/scene.ts';
import { HOUR, mailIn, type Mail } from './mail.ts';

interface Told {
  code: string;
  severity: string;
  summary: string;
  subjects: string[];
  since: string | null;
  advice: { words: string; command: string | null };
}

const PTR = '550 5.7.25 The IP address sending this message does not have a PTR record setup';
const AUTH = '550 5.7.26 This mail is unauthenticated';
const UNKNOWN = '550 5.1.1 No such user';
const RATE = '451 4.7.0 Too many messages, try again later';

describe('refusals by receivers', () => {
  let scene: Scene;
  const replies = new Map<string, string>();
  beforeAll(async () => {
    const script = (command: string): string | undefined => {
      const [, domain = ''] = /^RCPT TO:<[^@>]*@([^>]*)>/.exec(command) ?? [];
      return replies.get(domain);
    };
    scene = await startScene({ sink: { script }, config: { delivery: { retry_minutes: [5] } } });
  });
  afterAll(() => scene.close());

  const refuse = (domain: string, reply: string, mx = `mx.${domain}`): void => {
    scene.dns.set(domain, 'MX', [`10 ${mx}`]);
    scene.dns.set(mx, 'A', ['127.0.0.1']);
    replies.set(domain, reply);
  };
  const sendAll = async (mail: Mail, name: string, count: number, domain: string): Promise<void> => {
    for (let i = 0; i < count; i += 1) await mail.send(`${name}${i}@${domain}`);
    await scene.settled();
  };
  const isRefused = ({ code }: Told): boolean => code === 'server_refused' || code === 'domain_refused';
  const readOwn = async ({ key }: Team): Promise<Told[]> =>
    ((await scene.api('GET', '/findings', { key })).body.findings as Told[]).filter(isRefused);
  const readAll = async (): Promise<Told[]> =>
    ((await scene.api('GET', '/operator/findings', { key: await scene.operator() })).body.findings as Told[]).filter(
      isRefused,
    );

  it('a receiver that refuses five emails because of reverse DNS is a finding of the installation until it accepts one', async () => {
    const mail = await mailIn(scene);
    refuse('ptr.example', PTR);
    const since = new Date(scene.clock.now()).toISOString();
    await sendAll(mail, 'a', 4, 'ptr.example');
    expect(await readAll()).toEqual([]);
    await sendAll(mail, 'b', 2, 'ptr.example');
    expect(await readAll()).toMatchObject([
      {
        code: 'server_refused',
        severity: 'warning',
        subjects: ['ptr.example (eu-west-1): ptr_helo'],
        since,
        summary: `ptr.example refuses mail because of reverse DNS or the EHLO name of this server (ptr_helo), 6 times since ${since}: ${PTR}.`,
        advice: { command: 'rasket doctor' },
      },
    ]);
    const [told, ...others] = await readOwn(mail.team);
    expect(others).toEqual([]);
    expect(told).toMatchObject({ code: 'server_refused', subjects: [] });
    expect(JSON.stringify(told)).not.toContain('ptr.example');
    replies.delete('ptr.example');
    await sendAll(mail, 'c', 1, 'other.example');
    expect(await readAll()).toHaveLength(1);
    await sendAll(mail, 'c', 1, 'ptr.example');
    expect(await readAll()).toEqual([]);
    expect(await readOwn(mail.team)).toEqual([]);
  });

  it('a receiver that refuses five emails for their authentication is a finding of the team and names its domain', async () => {
    const mail = await mailIn(scene);
    const other = await mailIn(scene);
    refuse('auth.example', AUTH);
    await sendAll(mail, 'a', 5, 'auth.example');
    const { name } = mail.domain;
    const told = {
      code: 'domain_refused',
      subjects: [`${name}: authentication`],
      summary: expect.stringContaining(`auth.example refuses mail of ${name} because of its authentication`),
      advice: { words: expect.stringMatching(/^See /), command: `rasket domains get ${name}` },
    };
    expect(await readOwn(mail.team)).toMatchObject([told]);
    expect((await readOwn(mail.team))[0]?.summary).toContain(AUTH);
    expect(await readOwn(other.team)).toEqual([]);
    expect(await readAll()).toMatchObject([
      { ...told, advice: { words: expect.stringMatching(/^With a key of its team, see /) } },
    ]);
    replies.delete('auth.example');
    await sendAll(other, 'b', 1, 'auth.example');
    expect(await readOwn(mail.team)).toHaveLength(1);
    await sendAll(mail, 'b', 1, 'auth.example');
    expect(await readOwn(mail.team)).toEqual([]);
  });

  it('a finding about one receiver is a warning that /ready leaves out, and three independent receivers are an error', async () => {
    const mail = await mailIn(scene);
    const readReady = async (): Promise<{ status: string; findings: Told[] }> => {
      const { status, findings } = (await scene.api('GET', '/ready')).body as { status: string; findings: Told[] };
      return { status, findings: findings.filter(isRefused) };
    };
    const before = await readReady();
    for (const [at, domain] of ['one.example', 'two.example', 'three.example'].entries()) {
      // Names below one registered domain are one receiver, however many there are.
      refuse(domain, PTR, `mx.${'abc'.charAt(at)}.spiteful.test`);
      await sendAll(mail, 'a', 5, domain);
    }
    expect(await readAll()).toMatchObject([{ code: 'server_refused', severity: 'warning' }]);
    expect(await readReady()).toEqual(before);
    refuse('auth.example', AUTH);
    await sendAll(mail, 'a', 5, 'auth.example');
    expect(await readAll()).toMatchObject([
      { code: 'server_refused' },
      { code: 'domain_refused', severity: 'warning' },
    ]);
    expect(await readReady()).toEqual(before);
    for (const domain of ['four.example', 'five.test']) {
      refuse(domain, PTR);
      await sendAll(mail, 'a', 5, domain);
    }
    expect(await readAll()).toMatchObject([{ code: 'server_refused', severity: 'error' }, { code: 'domain_refused' }]);
    expect(await readOwn(mail.team)).toMatchObject([{ code: 'server_refused', severity: 'error' }, {}]);
    expect(await readReady()).toMatchObject({
      status: 'degraded',
      findings: [{ code: 'server_refused', severity: 'error' }],
    });
    for (const domain of ['one.example', 'two.example', 'three.example', 'auth.example', 'four.example', 'five.test']) {
      replies.delete(domain);
      await sendAll(mail, 'b', 1, domain);
    }
    expect(await readAll()).toEqual([]);
  });

  it('a finding quotes at most 200 characters of a reply, and its URL as plain text', async () => {
    const mail = await mailIn(scene);
    refuse('long.example', `${PTR}, see https://long.example/why?ip=1 ${'and so on '.repeat(100)}`);
    await sendAll(mail, 'a', 5, 'long.example');
    const [told] = await readAll();
    const [, quoted = ''] = /Z: (.*)\.$/.exec(told?.summary ?? '') ?? [];
    expect(quoted).toMatch(/^550 5\.7\.25 .* see https:\/\/long\.example\/why\?ip=1 and so on .*…$/);
    expect(quoted).toHaveLength(200);
    replies.delete('long.example');
    await sendAll(mail, 'b', 1, 'long.example');
  });

  it('a finding about refusals ends one day after the last one', async () => {
    const mail = await mailIn(scene);
    refuse('day.example', PTR);
    await sendAll(mail, 'a', 5, 'day.example');
    scene.clock.advance(23 * HOUR);
    expect(await readAll()).toHaveLength(1);
    scene.clock.advance(2 * HOUR);
    expect(await readAll()).toEqual([]);
    await sendAll(mail, 'b', 4, 'day.example');
    expect(await readAll()).toEqual([]);
  });

  it('one email that is refused at each retry is no finding, and neither are five unknown recipients', async () => {
    const mail = await mailIn(scene);
    refuse('slow.example', RATE, 'slow-example.mail.protection.outlook.com');
    refuse('gone.example', UNKNOWN);
    await sendAll(mail, 'a', 1, 'slow.example');
    for (let i = 0; i < 8; i += 1) {
      scene.clock.advance(HOUR);
      await scene.settled();
    }
    await sendAll(mail, 'a', 5, 'gone.example');
    expect(await readAll()).toEqual([]);
    await sendAll(mail, 'b', 4, 'slow.example');
    expect(await readAll()).toMatchObject([{ subjects: ['microsoft (eu-west-1): rate'] }]);
  });
});
