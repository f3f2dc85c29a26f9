// nodemailer, smtplib and swaks --> submission --> sink
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import nodemailer from 'nodemailer';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startScene, type Scene, type Team } from '../rig/scene.ts';
import { findPort } from '../smtp/dialogue.ts';
import { describePeers } from './peers.ts';

let scene: Scene;
let team: Team;
let from: string;

beforeAll(async () => {
  scene = await startScene({ roles: ['http', 'delivery', 'submission'] });
  team = await scene.team();
  from = `me@${(await team.domain()).name}`;
});
afterAll(() => scene.close());

async function arrived(subject: string): Promise<{ count: number; text: string }> {
  await scene.settled();
  const found = scene.sink.messages.filter(({ data }) => data.includes(`Subject: ${subject}`));
  return { count: found.length, text: found[0]?.data.toString('utf8') ?? '' };
}

describe('nodemailer', () => {
  it.each(['starttls', 'tls'] as const)(
    'sends over %s, with a pool, to 60 recipients in two transactions',
    async (way) => {
      const transport = nodemailer.createTransport({
        host: '127.0.0.1',
        port: findPort(scene, way),
        secure: way === 'tls',
        requireTLS: true,
        auth: { user: 'rasket', pass: team.key },
        tls: { rejectUnauthorized: false },
        pool: true,
        maxConnections: 2,
      });
      const to = Array.from({ length: 60 }, (_, n) => `r${n}@example.net`);
      const halves = [to.slice(0, 50), to.slice(50)];
      const attachments = [{ filename: 'a.bin', content: Buffer.alloc(300_000, 7) }];
      const infos = await Promise.all(
        halves.map((half) =>
          transport.sendMail({
            from: `Me <${from}>`,
            to: half,
            bcc: [],
            subject: `nodemailer ${way}`,
            text: 'Grüße',
            html: '<p>Grüße</p>',
            attachments,
          }),
        ),
      );
      expect(infos.map(({ rejected }) => rejected)).toEqual([[], []]);
      expect(infos.every(({ response }) => /^250 2\.6\.0 Accepted as /.test(response ?? ''))).toBe(true);
      transport.close();
      const { count, text } = await arrived(`nodemailer ${way}`);
      expect(count).toBe(2);
      expect(text).toMatch(/^DKIM-Signature: /);
      expect(text).not.toContain('Bcc:');
    },
  );

  it('gets a clear error for a wrong key', async () => {
    const transport = nodemailer.createTransport({
      host: '127.0.0.1',
      port: findPort(scene, 'tls'),
      secure: true,
      auth: { user: 'rasket', pass: 'rk_wrong' },
      tls: { rejectUnauthorized: false },
    });
    await expect(transport.verify()).rejects.toThrow('535 5.7.8 The API key is not valid.');
  });
});

const SMTPLIB = `
import smtplib, ssl, sys
from email.message import EmailMessage
port, tls_port, key, sender = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3], sys.argv[4]
context = ssl.create_default_context()
context.check_hostname = False
context.verify_mode = ssl.CERT_NONE
message = EmailMessage()
message['From'], message['To'], message['Bcc'], message['Subject'] = sender, 'a@example.net', 'b@example.net', 'smtplib'
message.set_content('Grüße')
with smtplib.SMTP('127.0.0.1', port) as client:
    client.starttls(context=context)
    client.login('resend', key)
    client.send_message(message)
del message['Subject']
message['Subject'] = 'smtplib over TLS'
with smtplib.SMTP_SSL('127.0.0.1', tls_port, context=context) as client:
    client.login('rasket', key)
    client.send_message(message)
`;

describePeers('smtplib', ['python3'], () => {
  it('sends over STARTTLS and over implicit TLS', async () => {
    const ports = [findPort(scene, 'starttls'), findPort(scene, 'tls')].map(String);
    await promisify(execFile)('python3', ['-c', SMTPLIB, ...ports, team.key, from]);
    expect((await arrived('smtplib')).count).toBe(2);
  });
});

describePeers('swaks', ['swaks'], () => {
  it('sends with the command of the panel, and with implicit TLS', async () => {
    const words = [
      '--server',
      '127.0.0.1',
      '--auth',
      'PLAIN',
      '--auth-user',
      'rasket',
      '--auth-password',
      team.key,
      '--from',
      from,
    ];
    const send = (more: string[]) => promisify(execFile)('swaks', [...words, '--to', 'a@example.net', ...more]);
    await send(['--port', String(findPort(scene, 'starttls')), '--tls', '--header', 'Subject: swaks']);
    await send(['--port', String(findPort(scene, 'tls')), '--tlsc', '--header', 'Subject: swaks over TLS']);
    expect((await arrived('swaks')).count).toBe(2);
  });
});
