import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it, test } from 'vitest';
import { classifyReply } from '../../../src/platform/reply-rules/index.ts';
import { bounceOfReply, CAUSES, ReplyParser } from '../../../src/protocol/smtp-reply/index.ts';
import { bringMail } from '../../rig/mx.ts';
import { startScene, type Scene, type Team } from '../../rig/scene.ts';
import { lines, postfix, report } from './standard-reports.ts';

interface Row {
  cause: string;
  said: string;
  type: string;
  subType: string;
  suppresses: boolean;
}

/** The table of docs/receiving.md: a row for each reply that it gives as an instance. */
const ROWS: Row[] = readFileSync(new URL('../../../docs/receiving.md', import.meta.url), 'utf8')
  .split('\n')
  .map((line) => /^\| ([a-z_]+) \| (`[45]\d\d .*`) \| (\w+), (\w+) \| (yes|no) \| [^|]+ \|$/.exec(line))
  .filter((match) => match !== null)
  .flatMap(([, cause = '', said = '', type = '', subType = '', suppresses]) =>
    [...said.matchAll(/`([^`]+)`/g)].map(([, one = '']) => ({
      cause,
      said: one,
      type,
      subType,
      suppresses: suppresses === 'yes',
    })),
  );

test('every cause has a row in the table of bounces, and the table has no other', () => {
  // No reply of a receiver means this one: it is what a relay of the settings says of this server's login.
  const ofReceivers = Object.keys(CAUSES).filter((cause) => cause !== 'relay_misconfigured');
  expect(new Set(ROWS.map(({ cause }) => cause))).toEqual(new Set(ofReceivers));
});

test.each(ROWS)('the reply $said on the connection means $cause', ({ said, cause, type, subType, suppresses }) => {
  const [reply = { code: 0, lines: [] }] = new ReplyParser().push(Buffer.from(`${said}\r\n`));
  const found = classifyReply({ reply, stage: 'RCPT TO' }).cause;
  expect(found).toBe(cause);
  expect(bounceOfReply(reply, found)).toEqual({ type, subType });
  expect(type === 'Permanent').toBe(suppresses);
});

describe('the table of bounces in reports', () => {
  let scene: Scene;
  let team: Team;
  let domain: string;
  let count = 0;
  beforeAll(async () => {
    scene = await startScene({ roles: ['http', 'delivery', 'receiving'] });
    team = await scene.team();
    domain = (await team.domain()).name;
  });
  afterAll(() => scene.close());

  /** Sends an email, brings what a server would send back for it, and answers what became of both. */
  async function bounce(raw: (to: string) => string) {
    const to = `n${++count}@dest.example.org`;
    const body = { from: `a@${domain}`, to: [to], subject: 'Out', text: 'x' };
    const { id } = (await scene.api('POST', '/emails', { key: team.key, body })).body;
    await scene.settled();
    const path = scene.sink.messages.findLast(({ rcptTo }) => rcptTo.includes(to))?.mailFrom ?? '';
    const content = raw(to).replaceAll('\n', '\r\n');
    expect(await bringMail(scene, { from: '', to: [path], raw: content })).toMatch(/^250 /);
    const last = (await scene.events(id)).at(-1);
    const suppression = await scene.api('GET', `/suppressions/${to}`, { key: team.key });
    return { last, isSuppressed: suppression.status === 200 };
  }

  it.each(ROWS)('has the same meaning for $said', async ({ said, type, subType, suppresses }) => {
    const status = /^\d{3} ([45]\.\d+\.\d+) /.exec(said)?.[1] ?? '5.0.0';
    const { last, isSuppressed } = await bounce((to) =>
      report({
        head: [...postfix, 'Subject: Undelivered Mail Returned to Sender'],
        status: [
          'Reporting-MTA: dns; mail.dest.example',
          '',
          `Final-Recipient: rfc822; ${to}`,
          'Action: failed',
          `Status: ${status}`,
          `Diagnostic-Code: smtp; ${said}`,
        ],
      }),
    );
    expect(last).toMatchObject({ type: 'email.bounced', data: { bounce: { type, subType } } });
    expect(isSuppressed).toBe(suppresses);
  });

  it.each(ROWS.filter(({ suppresses }) => suppresses))(
    'suppresses nobody for $said as a temporary reply',
    async ({ said }) => {
      const later = said.replace(/^\d{3}/, '450').replace(/ 5\.(?=\d+\.\d+ )/, ' 4.');
      const { last, isSuppressed } = await bounce((to) =>
        lines(
          'From: MAILER-DAEMON@mx.dest.example',
          'Subject: failure notice',
          '',
          `<${to}>:`,
          `Remote host said: ${later}`,
        ),
      );
      expect(last).toMatchObject({ type: 'email.bounced', data: { bounce: { type: 'Transient' } } });
      expect(isSuppressed).toBe(false);
    },
  );
});
