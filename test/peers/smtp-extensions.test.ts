import { expect, it } from 'vitest';
import { openOffice } from './office.ts';
import { describePeers } from './peers.ts';

describePeers('with a real Postfix,', ['postfix'], () => {
  it('PIPELINING sends the envelope in one piece', async () => {
    await using office = await openOffice();
    const sent = await office.send({ to: ['a@example.org', 'b@example.org'] });
    await office.scene.settled();
    expect((await office.account(sent)).state).toBe('delivered');
    expect(office.wire.pieces).toContainEqual(
      expect.stringMatching(/^MAIL FROM:.*\r\nRCPT TO:<a@example\.org>\r\nRCPT TO:<b@example\.org>\r\nDATA\r\n$/),
    );
  });

  it('without PIPELINING every command waits for its reply, even when Postfix enforces that', async () => {
    const settings = {
      smtpd_discard_ehlo_keywords: 'pipelining',
      smtpd_recipient_restrictions: 'reject_unauth_pipelining',
      smtpd_data_restrictions: 'reject_unauth_pipelining',
    };
    await using office = await openOffice({ postfix: { settings } });
    const sent = await office.send({ to: ['a@example.org', 'b@example.org'] });
    await office.scene.settled();
    expect((await office.account(sent)).state).toBe('delivered');
    expect(office.wire.pieces.filter((piece) => /^(MAIL|RCPT|DATA)/.test(piece))).toHaveLength(4);
    expect(office.postfix.log().filter((line) => /improper/i.test(line))).toEqual([]);
  });

  it('SIZE makes a message over the limit bounce as too large without being offered', async () => {
    await using office = await openOffice({ postfix: { settings: { message_size_limit: '20000' } } });
    const large = await office.send({ to: 'a@example.org', text: 'line\n'.repeat(5000) });
    await office.scene.settled();
    expect(await office.account(large)).toEqual({
      state: 'bounced',
      events: ['email.queued', 'email.sent', 'email.bounced'],
    });
    expect((await office.scene.events(large.id)).at(-1)?.data?.bounce).toMatchObject({
      type: 'Transient',
      subType: 'MessageTooLarge',
    });
    expect(office.wire.commands('MAIL')).toEqual([]);
    expect(await office.suppressions()).toEqual([]);
    await office.hangUp();
    expect(await office.postfix.logged(/disconnect from/)).toEqual([
      expect.stringMatching(/ ehlo=1 quit=1 commands=2$/),
    ]);
  });

  it('a message over a limit that Postfix does not announce bounces as too large after it was sent', async () => {
    const settings = { message_size_limit: '20000', smtpd_discard_ehlo_keywords: 'size' };
    await using office = await openOffice({ postfix: { settings } });
    const sent = await office.send({ to: 'a@example.org', text: 'line\n'.repeat(5000) });
    await office.scene.settled();
    const events = await office.scene.events(sent.id);
    expect(events.map(({ type }) => type)).toEqual(['email.queued', 'email.sent', 'email.bounced']);
    expect(events.at(-1)?.data?.bounce).toMatchObject({
      type: 'Transient',
      subType: 'MessageTooLarge',
      diagnosticCode: [expect.stringMatching(/^smtp; 552 5\.3\.4 /)],
    });
    expect(await office.suppressions()).toEqual([]);
  });

  it('SMTPUTF8 delivers to a non-ASCII address, with the parameters that Postfix offers', async () => {
    await using office = await openOffice();
    const sent = await office.send({ to: 'jörg@example.org' });
    await office.scene.settled();
    expect(await office.account(sent)).toEqual({
      state: 'delivered',
      events: ['email.queued', 'email.sent', 'email.delivered'],
    });
    expect(office.wire.commands('MAIL FROM')).toEqual([expect.stringMatching(/ SIZE=\d+ BODY=8BITMIME SMTPUTF8$/)]);
    const [mail] = await office.postfix.received(sent.messageId);
    expect(mail?.to).toBe('jörg@example.org');
    expect(mail?.content.toString('utf8')).toContain('jörg@example.org');
  });

  it('without SMTPUTF8 a non-ASCII address bounces, and other recipients still get their mail', async () => {
    await using office = await openOffice({ postfix: { settings: { smtputf8_enable: 'no' } } });
    const beyond = await office.send({ to: 'jörg@example.org' });
    const ascii = await office.send({ to: 'joerg@example.org' });
    await office.scene.settled();
    expect((await office.account(beyond)).events).toEqual(['email.queued', 'email.sent', 'email.bounced']);
    expect((await office.account(ascii)).state).toBe('delivered');
    expect(office.wire.commands('MAIL FROM')).toEqual([expect.stringMatching(/ BODY=8BITMIME$/)]);
    expect(await office.suppressions()).toEqual([]);
  });

  it('without 8BITMIME no parameter is used that Postfix does not offer', async () => {
    await using office = await openOffice({
      postfix: { settings: { smtpd_discard_ehlo_keywords: '8bitmime, size, smtputf8' } },
    });
    const sent = await office.send({ to: 'a@example.org', text: 'Grüße' });
    await office.scene.settled();
    expect((await office.account(sent)).state).toBe('delivered');
    expect(office.wire.commands('MAIL FROM')).toEqual([expect.stringMatching(/^MAIL FROM:<[^>]+>$/)]);
  });
});
