// Mail libraries of several languages submit mail, each as its manual says. What is not installed is skipped; README.md names packages.
import { execFile } from 'node:child_process';
import { copyFileSync, existsSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import nodemailer from 'nodemailer';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { findProgram } from '../peers/find-program.ts';
import { startScene, type Scene, type Team } from '../rig/scene.ts';
import { scratchFolder } from '../rig/scratch.ts';
import { findPort } from '../smtp/dialogue.ts';

/** RFC 5321 §4.5.3.1.8 has a server take at least 100. */
const COUNTS = [60, 100];
const SCRIPTS = path.join(import.meta.dirname, 'smtp');

interface Settings {
  port: number;
  tls_port: number;
  key: string;
  from: string;
}

interface Client {
  name: string;
  /** Programs and files that it needs. */
  needs: string[];
  submit: (settings: Settings) => Promise<unknown>;
}

const run = (program: string, args: string[], cwd?: string) => promisify(execFile)(program, args, { cwd });
const runScript = (program: string, script: string) => (settings: Settings) =>
  run(program, [path.join(SCRIPTS, script), JSON.stringify(settings), ...COUNTS.map(String)]);
const listRecipients = (count: number): string[] => Array.from({ length: count }, (_, n) => `r${n}@example.net`);

const CLIENTS: Client[] = [
  { name: 'nodemailer', needs: [], submit: submitByNodemailer },
  { name: 'smtplib', needs: ['python3'], submit: runScript('python3', 'submit.py') },
  { name: 'swaks', needs: ['swaks'], submit: submitBySwaks },
  { name: 'net/smtp of Go', needs: ['go'], submit: submitByGo },
  {
    name: 'PHPMailer',
    needs: ['php', '/usr/share/php/libphp-phpmailer/autoload.php'],
    submit: runScript('php', 'phpmailer.php'),
  },
  {
    name: 'Symfony Mailer',
    needs: ['php', '/usr/share/php/Symfony/Component/Mailer/autoload.php'],
    submit: runScript('php', 'symfony.php'),
  },
];

async function submitByNodemailer({ port, tls_port, key, from }: Settings): Promise<void> {
  const common = { host: '127.0.0.1', auth: { user: 'rasket', pass: key }, tls: { rejectUnauthorized: false } };
  const starttls = nodemailer.createTransport({ ...common, port, requireTLS: true });
  const attachments = [{ filename: 'file.bin', content: Buffer.from('a file') }];
  await starttls.sendMail({
    from,
    to: 'x@example.net',
    bcc: 'b@example.net',
    subject: 'one file',
    text: 'Grüße',
    attachments,
  });
  for (const count of COUNTS) {
    const { rejected } = await starttls.sendMail({
      from,
      to: listRecipients(count),
      subject: `to ${count}`,
      text: 'Hello',
    });
    expect(rejected).toEqual([]);
  }
  const tls = nodemailer.createTransport({ ...common, port: tls_port, secure: true });
  await tls.sendMail({ from, to: 'x@example.net', subject: 'over TLS', text: 'Hello' });
  starttls.close();
  tls.close();
}

async function submitBySwaks({ port, tls_port, key, from }: Settings): Promise<void> {
  const login = [
    '--server',
    '127.0.0.1',
    '--auth',
    'PLAIN',
    '--auth-user',
    'rasket',
    '--auth-password',
    key,
    '--from',
    from,
  ];
  const send = (subject: string, to: string[], more: string[]) =>
    run('swaks', [...login, '--to', to.join(','), '--header', `Subject: ${subject}`, ...more]);
  const starttls = ['--port', String(port), '--tls'];
  await send(
    'one file',
    ['x@example.net', 'b@example.net'],
    [...starttls, '--attach-name', 'file.bin', '--attach', 'a file'],
  );
  for (const count of COUNTS) {
    // swaks would write all addresses into one header line, which may have 998 bytes.
    await send(`to ${count}`, listRecipients(count), [...starttls, '--header', 'To: undisclosed-recipients:;']);
  }
  await send('over TLS', ['x@example.net'], ['--port', String(tls_port), '--tlsc']);
}

async function submitByGo(settings: Settings): Promise<void> {
  const folder = scratchFolder('rasket-client-');
  try {
    writeFileSync(path.join(folder, 'go.mod'), 'module submit\n\ngo 1.19\n');
    copyFileSync(path.join(SCRIPTS, 'submit.go'), path.join(folder, 'submit.go'));
    await run('go', ['run', '.', JSON.stringify(settings), ...COUNTS.map(String)], folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

const findMissing = ({ needs }: Client): string | undefined =>
  needs.find((one) => (path.isAbsolute(one) ? !existsSync(one) : findProgram(one) === undefined));

describe('mail that libraries submit', () => {
  let scene: Scene;
  let team: Team;
  let from: string;
  beforeAll(async () => {
    scene = await startScene({ roles: ['http', 'delivery', 'submission'] });
    team = await scene.team();
    from = `me@${(await team.domain()).name}`;
  });
  afterAll(() => scene.close());

  it.for(CLIENTS)(
    '$name delivers to every recipient once, with STARTTLS and with implicit TLS',
    async (client, ctx) => {
      const missing = findMissing(client);
      if (missing !== undefined) return ctx.skip(`${missing} is not installed`);
      const before = scene.sink.messages.length;
      const ports = { port: findPort(scene, 'starttls'), tls_port: findPort(scene, 'tls') };
      await client.submit({ ...ports, key: team.key, from });
      await scene.settled();
      const arrived = scene.sink.messages
        .slice(before)
        .map(({ data, rcptTo }) => ({ text: data.toString('utf8'), rcptTo }));
      const find = (subject: string) =>
        arrived.filter(({ text }) => new RegExp(`^Subject: ${subject}\r$`, 'm').test(text));
      const one = find('one file');
      expect(one.flatMap(({ rcptTo }) => rcptTo).sort()).toEqual(['b@example.net', 'x@example.net']);
      for (const { text } of one) {
        expect(text).toContain('file.bin');
        expect(text).not.toMatch(/^Bcc:/im);
      }
      for (const count of COUNTS) {
        const recipients = find(`to ${count}`).flatMap(({ rcptTo }) => rcptTo);
        expect(recipients.sort()).toEqual(listRecipients(count).sort());
      }
      expect(find('over TLS').flatMap(({ rcptTo }) => rcptTo)).toEqual(['x@example.net']);
    },
  );
});
