import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { mailIn } from '../flow/mail.ts';
import { freePort } from '../rig/free-port.ts';
import { startScene } from '../rig/scene.ts';
import { makeCertificate } from '../rig/tls.ts';
import { describePeers } from './peers.ts';
import { startPostfix } from './postfix.ts';

const RELAY = 'smtp.relay.test';
const LOGIN = { user: 'me', password: 'Correct horse, battery: staple' };
const MECHANISMS = ['PLAIN', 'LOGIN', 'CRAM-MD5'];
const certificate = makeCertificate({ names: [RELAY] });

/** An installation whose mail all goes through a Postfix that asks for a login. */
async function startRelayed(
  relay: Record<string, unknown> = {},
  { password = LOGIN.password, settings = {} }: { password?: string; settings?: Record<string, string> } = {},
) {
  const postfix = await startPostfix({ certificate, settings, login: { ...LOGIN, mechanisms: MECHANISMS } });
  onTestFinished(() => postfix.close());
  const scene = await startScene({
    config: {
      delivery: { relay: 'main', smtp_port: await freePort() },
      relays: {
        main: {
          host: RELAY,
          port: postfix.port,
          user: LOGIN.user,
          password_file: 'relay/password',
          ca_file: 'relay/ca.pem',
          ...relay,
        },
      },
    },
    prepare: (dataDir) => {
      mkdirSync(path.join(dataDir, 'relay'));
      writeFileSync(path.join(dataDir, 'relay/password'), `${password}\n`);
      writeFileSync(path.join(dataDir, 'relay/ca.pem'), certificate.cert);
    },
  });
  onTestFinished(() => scene.close());
  scene.dns.set(RELAY, 'A', ['127.0.0.1']);
  const mail = await mailIn(scene);
  const attempt = async (id: string) =>
    (await scene.api('GET', `/emails/${id}/attempts`, { key: mail.team.key })).body.data[0];
  return { postfix, scene, mail, attempt };
}

describePeers('a Postfix with Cyrus SASL as relay', ['postfix', 'saslpasswd2'], () => {
  it.each(['plain', 'login', 'cram-md5'])('accepts mail after a login by %s', async (authentication) => {
    const { postfix, scene, mail, attempt } = await startRelayed({ authentication });
    const id = await mail.send('a@example.org');
    await scene.settled();
    expect((await mail.account(id)).state, postfix.log().join('\n')).toBe('delivered');
    expect(await attempt(id)).toMatchObject({ relay: 'main', mx: RELAY, tls: { version: 'TLSv1.3' } });
    const [line] = await postfix.logged(/sasl_username=/);
    expect(line).toContain(`sasl_method=${authentication.toUpperCase()}, sasl_username=me`);
    const [received] = await postfix.received(`<${id}@${mail.domain.name}>`);
    expect(received?.messageId).toBe(`<${id}@${mail.domain.name}>`);
  });

  it('is reached over implicit TLS', async () => {
    const { scene, mail } = await startRelayed({ tls: 'implicit' }, { settings: { smtpd_tls_wrappermode: 'yes' } });
    const id = await mail.send('a@example.org');
    await scene.settled();
    expect((await mail.account(id)).state).toBe('delivered');
  });

  it.each(['plain', 'login', 'cram-md5'])(
    'defers mail, and bounces none, for a wrong password by %s',
    async (authentication) => {
      const { postfix, scene, mail, attempt } = await startRelayed({ authentication }, { password: 'wrong' });
      const id = await mail.send('a@example.org');
      await scene.settled();
      expect(await mail.account(id)).toMatchObject({ state: 'delivery_delayed', suppressed: [] });
      expect((await attempt(id)).recipients[0]).toMatchObject({
        reason: 'relay_misconfigured',
        reply: expect.stringContaining('535 5.7.8'),
      });
      await postfix.logged(/SASL (PLAIN|LOGIN|CRAM-MD5) authentication failed/);
    },
  );

  it('defers mail when it requires a login and the settings have none', async () => {
    const { scene, mail, attempt } = await startRelayed({ user: '', password_file: '' });
    const id = await mail.send('a@elsewhere.example');
    await scene.settled();
    expect(await mail.account(id)).toMatchObject({ state: 'delivery_delayed', suppressed: [] });
    expect((await attempt(id)).recipients[0]).toMatchObject({
      cause: 'relay_misconfigured',
      reply: expect.stringContaining('554 5.7.1'),
    });
  });

  it('bounces the one of two recipients that it refuses permanently', async () => {
    const { postfix, scene, mail } = await startRelayed();
    const id = await mail.send(['unknown@example.org', 'a@example.org']);
    await scene.settled();
    expect((await mail.account(id)).events, postfix.log().join('\n')).toEqual(
      expect.arrayContaining(['email.bounced unknown@example.org', 'email.delivered a@example.org']),
    );
    expect((await mail.account(id)).suppressed).toEqual(['unknown@example.org']);
  });
});
