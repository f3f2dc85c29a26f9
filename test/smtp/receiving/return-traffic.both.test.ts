import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { formatReturnPath, returnPathPrefix } from '../../../src/protocol/address/index.ts';
import { bringMail } from '../../rig/mx.ts';
import { startScene, type Scene, type Team } from '../../rig/scene.ts';

describe('returned mail:', () => {
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

  /** Sends an email and answers its return path for each destination. */
  async function send(to: string[]): Promise<{ id: string; paths: Map<string, string> }> {
    const seen = scene.sink.messages.length;
    const body = { from: `a@${domain}`, to, subject: 'Out', text: 'x' };
    const { id } = (await scene.api('POST', '/emails', { key: team.key, body })).body;
    await scene.settled();
    const paths = new Map<string, string>();
    for (const { mailFrom, rcptTo } of scene.sink.messages.slice(seen)) {
      for (const address of rcptTo) paths.set(address.split('@')[1] ?? '', mailFrom);
    }
    return { id, paths };
  }
  const fresh = (domainPart = 'dest.example.org'): string => `n${++count}@${domainPart}`;
  const dsn = (
    address: string,
    { action = 'failed', status = '5.1.1', code = '550 5.1.1 no such user' } = {},
  ): string =>
    [
      'From: MAILER-DAEMON@mx.example.org',
      'Subject: Undelivered Mail Returned to Sender',
      'Content-Type: multipart/report; report-type=delivery-status; boundary=b',
      '',
      '--b',
      'Content-Type: message/delivery-status',
      '',
      'Reporting-MTA: dns; mx.example.org',
      '',
      `Final-Recipient: rfc822; ${address}`,
      `Action: ${action}`,
      `Status: ${status}`,
      `Diagnostic-Code: smtp; ${code}`,
      '--b--',
      '',
    ].join('\r\n');
  const arf = (type: string, mailFrom: string, to: string): string =>
    [
      'From: fbl@provider.example',
      'Content-Type: multipart/report; report-type=feedback-report; boundary=b',
      '',
      '--b',
      'Content-Type: message/feedback-report',
      '',
      `Feedback-Type: ${type}`,
      `Original-Mail-From: <${mailFrom}>`,
      `Original-Rcpt-To: <${to}>`,
      '--b--',
      '',
    ].join('\r\n');
  const back = (to: string | undefined, raw: string) => bringMail(scene, { from: '', to: [to ?? ''], raw });
  const account = (id: string) => scene.account(team, id);
  const suppression = async (address: string) =>
    (await scene.api('GET', `/suppressions/${address}`, { key: team.key })).body;

  it('a hard bounce is recorded once, suppresses, and names its email, however often it arrives', async () => {
    const to = fresh();
    const { id, paths } = await send([to]);
    for (let n = 0; n < 3; n++) expect(await back(paths.get('dest.example.org'), dsn(to))).toMatch(/^250 /);
    expect(await account(id)).toEqual({
      state: 'bounced',
      events: ['email.queued', 'email.sent', 'email.delivered', 'email.bounced'],
    });
    expect((await scene.events(id)).at(-1)).toMatchObject({
      data: {
        to: [to],
        bounce: { type: 'Permanent', subType: 'NoEmail', diagnosticCode: [expect.stringContaining('5.1.1')] },
      },
    });
    expect(await suppression(to)).toMatchObject({ origin: 'bounce', source_id: id });
  });

  it.each([
    ['a full mailbox', { status: '5.2.2', code: '552 5.2.2 mailbox full' }, 'Transient'],
    ['content that was refused', { status: '5.7.1', code: '554 5.7.1 looks like spam' }, 'Transient'],
    ['given up after days', { status: '4.4.1', code: '421 timed out' }, 'Transient'],
    ['a routing trouble', { status: '5.4.6', code: '554 5.4.6 loop' }, 'Undetermined'],
  ])('%s bounces and suppresses nobody', async (_, wishes, type) => {
    const to = fresh();
    const { id, paths } = await send([to]);
    await back(paths.get('dest.example.org'), dsn(to, wishes));
    expect((await scene.events(id)).at(-1)).toMatchObject({ type: 'email.bounced', data: { bounce: { type } } });
    expect(await suppression(to)).toMatchObject({ statusCode: 404 });
  });

  it('a warning is a delay, and a relayed message or an automatic reply changes nothing', async () => {
    const to = fresh();
    const { id, paths } = await send([to]);
    const path = paths.get('dest.example.org');
    const vacation =
      'From: x@dest.example.org\r\nSubject: Automatic reply: Out\r\nAuto-Submitted: auto-replied\r\n\r\n550 5.1.1\r\n';
    expect(await back(path, vacation)).toMatch(/^250 /);
    await back(path, dsn(to, { action: 'relayed', status: '2.0.0' }));
    expect((await account(id)).events.at(-1)).toBe('email.delivered');
    await back(path, dsn(to, { action: 'delayed', status: '4.4.1' }));
    expect((await scene.events(id)).at(-1)).toMatchObject({ type: 'email.delivery_delayed', data: { to: [to] } });
    expect((await account(id)).state).toBe('delivered');
  });

  it('an expansion to the members of a list is no event, and is logged', async () => {
    const to = fresh();
    const { id, paths } = await send([to]);
    const before = scene.log.length;
    expect(await back(paths.get('dest.example.org'), dsn(to, { action: 'expanded', status: '2.0.0' }))).toMatch(
      /^250 /,
    );
    expect(await account(id)).toEqual({
      state: 'delivered',
      events: ['email.queued', 'email.sent', 'email.delivered'],
    });
    expect(await suppression(to)).toMatchObject({ statusCode: 404 });
    const lines = scene.log.slice(before).map((line) => JSON.parse(line) as Record<string, unknown>);
    expect(lines.filter(({ msg }) => msg === 'email expanded to a list')).toMatchObject([{ emailId: id, to: [to] }]);
  });

  it('a forged final recipient suppresses nobody', async () => {
    const here = fresh('one.example.org');
    const there = fresh('two.example.org');
    const { id, paths } = await send([here, there]);
    expect(new Set(paths.values()).size).toBe(2);
    // A server with mail for one destination may report about a recipient at the other, or about an address that got none.
    for (const victim of [there, 'victim@example.net']) await back(paths.get('one.example.org'), dsn(victim));
    expect(await suppression(there)).toMatchObject({ statusCode: 404 });
    expect(await suppression('victim@example.net')).toMatchObject({ statusCode: 404 });
    // It speaks of the one that it had, whatever it calls it, and for ever of nobody.
    expect((await scene.events(id)).at(-1)).toMatchObject({ type: 'email.bounced', data: { to: [here] } });
    expect(await suppression(here)).toMatchObject({ statusCode: 404 });
  });

  it('a report that names none of several recipients at one destination changes nothing', async () => {
    const all = [fresh(), fresh()];
    const { id, paths } = await send(all);
    await back(paths.get('dest.example.org'), dsn('other@dest.example.org'));
    expect((await account(id)).events.at(-1)).toBe('email.delivered');
    await back(paths.get('dest.example.org'), dsn(all[1] ?? ''));
    expect((await scene.events(id)).at(-1)).toMatchObject({ type: 'email.bounced', data: { to: [all[1]] } });
  });

  it('a modified return path is refused', async () => {
    const to = fresh();
    const { id, paths } = await send([to]);
    const path = paths.get('dest.example.org') ?? '';
    const last = path.at(path.indexOf('@') - 1) === '0' ? '1' : '0';
    const forged = [
      path.replace(/.@/, `${last}@`),
      path.replace(/^b-.{8}/, 'b-00000000'),
      path.replace(/@.*/, '@example.net'),
      path.replace(/@.*/, '@rasket.test'),
    ];
    for (const address of forged) expect(await back(address, dsn(to))).toMatch(/^550 /);
    expect((await account(id)).state).toBe('delivered');
    expect(await back(path.toUpperCase(), dsn(to))).toMatch(/^250 /);
    expect((await account(id)).state).toBe('bounced');
  });

  it('a complaint is recorded and suppresses when its return path is ours and it is a complaint', async () => {
    const to = fresh();
    const { id, paths } = await send([to]);
    const path = paths.get('dest.example.org') ?? '';
    const report = (raw: string) => bringMail(scene, { from: 'fbl@provider.example', to: ['fbl@rasket.test'], raw });
    for (const type of ['not-spam', 'fraud', 'virus'])
      expect(await report(arf(type, path, to))).toMatch(/^550 5\.7\.1 /);
    expect(await report('Subject: hello\r\n\r\nx\r\n')).toMatch(/^550 5\.7\.1 /);
    await report(arf('abuse', path.replace(/^b-./, 'b-x'), to));
    await report(arf('abuse', 'someone@example.net', to));
    expect((await account(id)).state).toBe('delivered');
    expect(await report(arf('abuse', path, 'hidden@dest.example.org'))).toMatch(/^250 /);
    expect((await scene.events(id)).at(-1)).toMatchObject({ type: 'email.complained', data: { to: [to] } });
    expect(await suppression(to)).toMatchObject({ origin: 'complaint', source_id: id });
  });

  it.each([
    { said: 'relayed', status: '2.0.0', becomes: 'delivered' },
    { said: 'expanded', status: '2.0.0', becomes: 'delivered' },
    { said: 'failed', status: '5.1.1', becomes: 'bounced' },
  ])('a late $said settles a message that is in doubt, which then does not fail', async ({ said, status, becomes }) => {
    const { id } = await send(['drop-after-dot@dest.example.org']);
    const row = await scene.app.world.db.get<{ handed_off_at: number | null }>(
      'select handed_off_at from deliveries where email_id = ?',
      [id],
    );
    expect(row?.handed_off_at).toEqual(expect.any(Number));
    // Nobody has seen the return path but the server that took the message.
    const { world } = scene.app;
    const prefix = returnPathPrefix('b', 'dest.example.org');
    const mac = (bytes: Buffer): Buffer => world.secrets.mac('return path', bytes);
    const path = formatReturnPath({ prefix, emailId: id, domain: `send.${domain}`, mac });
    const notice = dsn('drop-after-dot@dest.example.org', { action: said, status });
    expect(await back(path, notice)).toMatch(/^250 /);
    scene.clock.advance(3 * 3_600_000);
    await scene.settled();
    const { state, events } = await account(id);
    expect([state, events.includes('email.failed')]).toEqual([becomes, false]);
  });
});
