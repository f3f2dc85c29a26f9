import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { callMx, createReceivingDomain } from '../../rig/mx.ts';
import { startScene, type Scene, type Team } from '../../rig/scene.ts';
import { TRANSCRIPTS } from './transcripts.ts';

describe('the dialogue with the MX port', () => {
  let scene: Scene;
  let team: Team;
  let domain = '';
  let other = '';
  beforeAll(async () => {
    scene = await startScene({ roles: ['http', 'receiving'] });
    team = await scene.team();
    domain = (await createReceivingDomain(scene, team)).name;
    other = (await team.domain()).name;
  });
  afterAll(() => scene.close());

  const filled = (text: string): string =>
    text
      .replaceAll('DOMAIN', domain)
      .replaceAll('UPPER', domain.toUpperCase())
      .replaceAll('OTHER', other)
      .replaceAll('LONG', 'x'.repeat(13_000));
  const unescaped = (text: string): string => text.replaceAll('\\r', '\r').replaceAll('\\n', '\n');

  /** Transcripts that are about STARTTLS use it themselves, and the offered extensions change with it. */
  const overTls = Object.entries(TRANSCRIPTS).filter(
    ([name, transcript]) => !transcript.includes('STARTTLS') && name !== 'extensions are said',
  );

  async function play(transcript: string, isTls: boolean): Promise<void> {
    const client = await callMx(scene);
    let lines = filled(transcript).trim().split('\n');
    try {
      if (isTls) {
        await client.hear();
        await client.say('EHLO mx.example.org');
        expect(await client.say('STARTTLS')).toMatch(/^220 /);
        await client.startTls();
        expect(lines[0]?.trim()).toMatch(/^< 220/);
        lines = lines.slice(1);
      }
      for (const line of lines.filter((one) => one.trim() !== '')) {
        const [, sign = '', rest = ''] = /^(>>|<>|>|<|tls) ?(.*)$/.exec(line.trim()) ?? [];
        if (sign === '>>') client.send(unescaped(rest));
        else if (sign === '>') client.send(`${rest}\r\n`);
        else if (sign === '<>') expect(await client.hear()).toBe('closed');
        else if (sign === 'tls') await client.startTls();
        else expect(`${line}: ${await client.hear()}`).toContain(`${line}: ${unescaped(rest)}`);
      }
    } finally {
      client.end();
    }
  }

  it.each(Object.entries(TRANSCRIPTS))('in clear text: %s', (_, transcript) => play(transcript, false));
  it.each(overTls)('encrypted: %s', (_, transcript) => play(transcript, true));
  it('has at least eighty variants', () =>
    expect(Object.keys(TRANSCRIPTS).length + overTls.length).toBeGreaterThanOrEqual(80));

  it('defers a message whose domain is deleted meanwhile', async () => {
    const own = await scene.team();
    const { id, name } = await createReceivingDomain(scene, own);
    const client = await callMx(scene);
    await client.hear();
    await client.say('EHLO mx.example.org');
    await client.say('MAIL FROM:<a@example.org>');
    await client.say(`RCPT TO:<b@${name}>`);
    expect(await client.say('DATA')).toMatch(/^354 /);
    expect((await scene.api('DELETE', `/domains/${id}`, { key: own.key })).status).toBe(200);
    expect(await client.say(Buffer.from('Subject: x\r\n\r\nHello\r\n.\r\n'))).toBe(
      `451 4.3.0 The routing of mail for ${name} has just changed; send it again`,
    );
    client.end();
    expect((await scene.api('GET', '/emails/receiving', { key: own.key })).body.data).toEqual([]);
  });

  it('stores an accepted message byte for byte and for its recipients', async () => {
    const own = await scene.team();
    const { name } = await createReceivingDomain(scene, own);
    const client = await callMx(scene);
    await client.hear();
    await client.say('EHLO mx.example.org');
    await client.say('MAIL FROM:<a@example.org>');
    for (const to of [`B@${name}`, `c@${name.toUpperCase()}`]) await client.say(`RCPT TO:<${to}>`);
    await client.say('DATA');
    const reply = await client.say(Buffer.from('Subject: dots\r\n\r\n..\r\n..x\r\n\r\n.\r\n'));
    client.end();
    const { data } = (await scene.api('GET', '/emails/receiving', { key: own.key })).body;
    expect(data).toHaveLength(1);
    expect(reply).toContain(data[0].id);
    const { body } = await scene.api('GET', `/emails/receiving/${data[0].id}`, { key: own.key });
    expect(body.received_for).toEqual([`B@${name}`, `c@${name}`]);
    const raw = await fetch(body.raw.download_url, { headers: { 'user-agent': 'x' } });
    expect(await raw.text()).toBe('Subject: dots\r\n\r\n.\r\n.x\r\n\r\n');
  });
});
