import { expect, it } from 'vitest';
import { mxPort, createReceivingDomain } from '../rig/mx.ts';
import { startScene } from '../rig/scene.ts';
import { makeCertificate } from '../rig/tls.ts';
import { startExim } from './exim.ts';
import { describePeers } from './peers.ts';

const certificate = makeCertificate({ names: ['mx.exim.test'] });

describePeers('a real Exim', ['exim4'], () => {
  it('accepts our mail over TLS: each message once, several recipients, dots and non-ASCII bytes', async () => {
    await using exim = await startExim({ certificate });
    await using scene = await startScene({ config: { delivery: { smtp_port: exim.port } } });
    const team = await scene.team();
    const { name } = await team.domain();
    const send = async (body: object): Promise<string> => {
      const whole = { from: `Office <office@${name}>`, subject: 'Grüße', text: 'Grüße\n.\n..two', ...body };
      return (await scene.api('POST', '/emails', { key: team.key, body: whole })).body.id as string;
    };
    const sent = [
      await send({ to: ['a@example.org', 'b@example.org'] }),
      await send({ to: 'c@example.org', text: 'A line of text.\n'.repeat(60_000) }),
    ];
    const refused = await send({ to: 'unknown@example.org' });
    await scene.settled();
    for (const id of sent) expect((await scene.account(team, id)).state).toBe('delivered');
    expect((await scene.account(team, refused)).state).toBe('bounced');
    await exim.logged(/Completed$/, 2);
    for (const line of await exim.logged(/ <= /, 2)) expect(line).toMatch(/ P=esmtps X=TLS1\.3:/);
    expect(exim.mail().match(/^Message-ID: /gim)).toHaveLength(2);
    expect(exim.mail()).toMatch(/^Envelope-to: (a@example\.org,\s*b@example\.org|b@example\.org,\s*a@example\.org)$/m);
  });

  it('sends us mail over TLS, which is kept byte for byte, and gets a refusal at RCPT for other domains', async () => {
    await using scene = await startScene({ roles: ['http', 'receiving'] });
    const team = await scene.team();
    const { name } = await createReceivingDomain(scene, team);
    await using exim = await startExim({ certificate, onwardPort: mxPort(scene) });
    const body = `Grüße\n.\n..two\n${'A line of text.\n'.repeat(5000)}`;
    const raw = `From: <someone@exim.test>\nTo: <support@${name}>\nSubject: Hello\nMessage-ID: <1@exim.test>\n\n${body}`;
    exim.submit({ from: 'someone@exim.test', to: [`support@${name}`, `sales@${name}`] }, raw);
    const [line] = await exim.logged(/ => .* C="250 /);
    expect(line).toMatch(/ X=TLS1\.3:.* C="250 2\.0\.0 Stored as /);

    const { data } = (await scene.api('GET', '/emails/receiving', { key: team.key })).body;
    expect(data).toMatchObject([{ subject: 'Hello', message_id: '<1@exim.test>' }]);
    const item = (await scene.api('GET', `/emails/receiving/${data[0].id}`, { key: team.key })).body;
    expect([...item.received_for].sort()).toEqual([`sales@${name}`, `support@${name}`]);
    const source = await (await fetch(item.raw.download_url, { headers: { 'user-agent': 'test' } })).text();
    expect(source).toMatch(/^Received: from /);
    expect(source.endsWith(`\r\n\r\n${body.replaceAll('\n', '\r\n')}`)).toBe(true);

    exim.submit({ from: 'someone@exim.test', to: ['somebody@elsewhere.example'] }, raw);
    const [bounce] = await exim.logged(/ \*\* somebody@elsewhere\.example/);
    expect(bounce).toMatch(/550 5\.7\.1 This server does not receive mail for elsewhere\.example/);
  });
});
