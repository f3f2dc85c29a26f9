import { expect, it } from 'vitest';
import { makeBadCertificate, makeCertificate } from '../rig/tls.ts';
import { openOffice } from './office.ts';
import { describePeers } from './peers.ts';

const established = /TLS connection established from unknown\[127\.0\.0\.1\]: TLSv1\.3/;
const certificate = makeCertificate({ names: ['mx.sink.test'] });

describePeers('with STARTTLS at a real Postfix,', ['postfix'], () => {
  it.each([
    { name: 'a self-signed certificate', certificate },
    { name: 'an expired certificate of another host', certificate: makeBadCertificate() },
  ])('$name is sufficient for encryption', async ({ certificate: theirs }) => {
    await using office = await openOffice({ postfix: { certificate: theirs } });
    const sent = await office.send({ to: 'reader@example.org' });
    await office.scene.settled();
    expect((await office.account(sent)).state).toBe('delivered');
    expect(await office.postfix.logged(established)).toHaveLength(1);
    expect(office.wire.commands('MAIL')).toEqual([]);
    const [mail] = await office.postfix.received(sent.messageId);
    expect(mail?.content.toString()).toContain('\r\n\r\nIt works.');
  });

  it('many messages use one encrypted connection', async () => {
    await using office = await openOffice({
      postfix: { certificate },
      delivery: { max_connections_per_destination: 1 },
    });
    for (let count = 0; count < 5; count += 1) await office.send({ to: `reader-${count}@example.org` });
    const large = await office.send({ to: 'reader@example.org', text: 'A line of text.\n'.repeat(60_000) });
    await office.scene.settled();
    expect(await office.postfix.received(large.messageId)).toHaveLength(1);
    expect(await office.postfix.logged(/status=sent/, 6)).toHaveLength(6);
    expect(await office.postfix.logged(established)).toHaveLength(1);
  });

  it('a Postfix that requires TLS gets it', async () => {
    await using office = await openOffice({
      postfix: { certificate, settings: { smtpd_tls_security_level: 'encrypt' } },
    });
    const sent = await office.send({ to: 'reader@example.org' });
    await office.scene.settled();
    expect((await office.account(sent)).state).toBe('delivered');
  });

  it('enforced TLS delivers when Postfix offers STARTTLS', async () => {
    await using office = await openOffice({ postfix: { certificate }, tls: 'enforced' });
    const sent = await office.send({ to: 'reader@example.org' });
    await office.scene.settled();
    expect((await office.account(sent)).state).toBe('delivered');
    expect(await office.postfix.logged(established)).toHaveLength(1);
  });

  it('enforced TLS waits while Postfix offers none, sends nothing in clear text, and delivers once it does', async () => {
    await using office = await openOffice({
      postfix: { certificate, settings: { smtpd_tls_security_level: 'none' } },
      tls: 'enforced',
    });
    const sent = await office.send({ to: 'reader@example.org' });
    await office.scene.settled();
    expect(await office.account(sent)).toEqual({
      state: 'delivery_delayed',
      events: ['email.queued', 'email.sent', 'email.delivery_delayed'],
    });
    expect(office.wire.pieces.join('')).toBe('EHLO rasket.test\r\nQUIT\r\n');

    office.postfix.set({ smtpd_tls_security_level: 'may' });
    office.scene.clock.advance(10 * 60_000);
    await office.scene.settled();
    expect(await office.account(sent)).toEqual({
      state: 'delivered',
      events: ['email.queued', 'email.sent', 'email.delivery_delayed', 'email.delivered'],
    });
    expect(await office.postfix.logged(established)).toHaveLength(1);
    expect(await office.postfix.received(sent.messageId)).toHaveLength(1);
  });

  it('a Postfix with broken TLS gets the mail in clear text, unless TLS is enforced', async () => {
    const broken = { smtpd_tls_mandatory_protocols: '>=TLSv1.3', smtpd_tls_protocols: '<=TLSv1' };
    await using office = await openOffice({ postfix: { certificate, settings: broken } });
    const sent = await office.send({ to: 'reader@example.org' });
    await office.scene.settled();
    expect((await office.account(sent)).state).toBe('delivered');
    expect(office.wire.commands('MAIL')).toHaveLength(1);

    await using strict = await openOffice({ postfix: { certificate, settings: broken }, tls: 'enforced' });
    const waiting = await strict.send({ to: 'reader@example.org' });
    await strict.scene.settled();
    expect((await strict.account(waiting)).state).toBe('delivery_delayed');
    expect(strict.wire.commands('MAIL')).toEqual([]);
  });
});
