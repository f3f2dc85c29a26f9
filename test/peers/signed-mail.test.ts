import PostalMime from 'postal-mime';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { openOffice, type Office, type Sent } from './office.ts';
import { describePeers } from './peers.ts';
import type { ReceivedMail } from './received-mail.ts';
import { askMailDkim, askOpendkim } from './verifiers.ts';

const bytes = Buffer.from(Array.from({ length: 100 * 1024 }, (_, index) => (index * 31 + (index >> 8)) & 255));
const fifty = Array.from({ length: 48 }, (_, index) => `reader-${index + 1}@example.org`);
const hidden = ['hidden-1@example.org', 'hidden-2@example.net'];

const messages: { name: string; body: Record<string, unknown> }[] = [
  { name: 'plain text', body: { text: 'It works.' } },
  { name: 'HTML with text', body: { text: 'It works.', html: '<p>It <b>works</b>.</p>' } },
  {
    name: 'UTF-8 in subject, names and bodies',
    body: {
      subject: 'Grüße aus Zürich — 東京の天気は晴れ 🌤️, und noch etwas mehr, damit die Zeile gefaltet werden muss',
      to: ['Jörg Müller-Lüdenscheidt <joerg@example.org>', '"東京, 太郎" <taro@example.org>'],
      text: 'Schöne Grüße\n東京は晴れです。🌤️\n'.repeat(40),
      html: '<p>Schöne Grüße</p>\n<p>東京は晴れです。🌤️</p>\n',
    },
  },
  {
    name: 'an attachment of 100 KB',
    body: { attachments: [{ filename: 'Prüfung.bin', content: bytes.toString('base64') }] },
  },
  {
    name: 'lines longer than SMTP allows',
    body: { text: `${'long '.repeat(1000)}\n${'x'.repeat(3000)}\n`, html: `<p>${'y'.repeat(5000)}</p>` },
  },
  { name: 'a line of exactly 998 bytes', body: { text: `${'z'.repeat(998)}\nend` } },
  { name: 'leading dots', body: { text: '.\n..\n.hidden\n...\n\n.\nend\n.' } },
  {
    name: 'empty lines, spaces at line ends and lines with From',
    body: { text: '\n\nA \t\n   \nFrom here\n>From there\n\n\n\n' },
  },
  { name: 'an empty body', body: { text: '' } },
  {
    name: 'header fields of the sender',
    body: { headers: { 'X-Entity-Ref-ID': 'a1', 'X-Long': 'word '.repeat(60).trim() } },
  },
  { name: '50 recipients, some of them in bcc', body: { to: fifty, bcc: hidden } },
];

describePeers('mail that a real Postfix accepted', ['postfix', 'opendkim', 'Mail::DKIM'], () => {
  let office: Office;
  const sent: Sent[] = [];
  const arrived: ReceivedMail[][] = [];
  const keys: Record<string, string> = {};

  beforeAll(async () => {
    office = await openOffice();
    for (const { body } of messages) sent.push(await office.send({ to: 'reader@example.org', ...body }));
    await office.scene.settled();
    for (const [index, { messageId }] of sent.entries()) {
      arrived.push(await office.postfix.received(messageId, listRecipients(index).length));
    }
    const { body } = await office.scene.api('GET', `/domains/${office.domain.id}`, { key: office.team.key });
    for (const { type, name, value } of body.records) if (type === 'TXT') keys[name] = value;
  });
  afterAll(() => office[Symbol.asyncDispose]());

  const listRecipients = (index: number): string[] => {
    const { to, bcc = [] } = { to: ['reader@example.org'], ...messages[index]?.body } as {
      to: string[];
      bcc?: string[];
    };
    return [...to, ...bcc].map((text) => /<(.*)>$/.exec(text)?.[1] ?? text);
  };

  it.each(messages.map(({ name }, index) => ({ name, index })))(
    'reaches every recipient once, with each event once: $name',
    async ({ index }) => {
      const mailboxes = arrived[index]?.map(({ to }) => to).sort();
      expect(mailboxes).toEqual(listRecipients(index).sort());
      const destinations = new Set(listRecipients(index).map((address) => address.split('@')[1]));
      expect(await office.account(sent[index]!)).toEqual({
        state: 'delivered',
        events: ['email.queued', 'email.sent', ...Array<string>(destinations.size).fill('email.delivered')],
      });
    },
  );

  it.each(messages.map(({ name }, index) => ({ name, index })))(
    'has the signed bytes in the mailbox: $name',
    async ({ index }) => {
      const { bytes: signed, returnPathTo } = await office.signed(sent[index]!);
      for (const { to, content, returnPath } of arrived[index]!) {
        expect(content.toString('latin1')).toBe(signed.toString('latin1'));
        expect(returnPath).toBe(returnPathTo(to.split('@')[1] ?? ''));
      }
    },
  );

  it('is verified by opendkim', async () => {
    const said = await askOpendkim(
      arrived.map(([first]) => first!.content),
      keys,
    );
    const [selector] = Object.keys(keys).filter((name) => name.includes('._domainkey.'));
    const verified = `verification (s=${selector?.split('.')[0]}, d=${office.domain.name}, 2048-bit key) succeeded`;
    expect(Object.fromEntries(messages.map(({ name }, index) => [name, said[index]]))).toEqual(
      Object.fromEntries(messages.map(({ name }) => [name, verified])),
    );
  });

  it('is verified by Mail::DKIM with the key from DNS', async () => {
    const said = await askMailDkim(
      arrived.map(([first]) => first!.content),
      office.scene.dns.port,
    );
    expect(Object.fromEntries(messages.map(({ name }, index) => [name, said[index]]))).toEqual(
      // One by the RSA key and one by the Ed25519 key.
      Object.fromEntries(messages.map(({ name }) => [name, '2 pass'])),
    );
  });

  it('is verified by neither when one signed byte was changed', async () => {
    const original = arrived[0]![0]!.content.toString('latin1');
    const changed = [
      original.replace('It works.', 'It worked'),
      original.replace('Subject: Hello', 'Subject: Hallo'),
      original.replace('\r\nFrom: ', `\r\nFrom: Other <other@${office.domain.name}>\r\nFrom: `),
      original.replace('\r\nSubject: ', '\r\nSubject: Another\r\nSubject: '),
    ].map((text) => Buffer.from(text, 'latin1'));
    const fail = changed.map(() => expect.stringMatching(/fail/));
    expect(await askOpendkim(changed, keys)).toEqual(fail);
    expect(await askMailDkim(changed, office.scene.dns.port)).toEqual(fail);
  });

  it('shows the reader what was sent, and nobody sees bcc', async () => {
    for (const [index, { body }] of messages.entries()) {
      const parsed = await PostalMime.parse(arrived[index]![0]!.content);
      expect(parsed.subject).toBe(body.subject ?? 'Hello');
      if (typeof body.html === 'string') expect(plain(parsed.html)).toBe(plain(body.html));
      expect(plain(parsed.text)).toBe(plain(String(body.text ?? 'It works.')));
      for (const { content } of arrived[index]!) expect(content.toString('latin1')).not.toMatch(/^bcc:|hidden-\d/im);
    }
    const { attachments } = await PostalMime.parse(arrived[3]![0]!.content);
    expect(attachments.map(({ filename }) => filename)).toEqual(['Prüfung.bin']);
    expect(Buffer.from(attachments[0]!.content as ArrayBuffer).equals(bytes)).toBe(true);
    const names = await PostalMime.parse(arrived[2]![0]!.content);
    expect(names.to?.map(({ name }) => name)).toEqual(['Jörg Müller-Lüdenscheidt', '東京, 太郎']);
  });
});

/** Line ends are SMTP's own, and a part's last one belongs to what follows it. */
function plain(text = ''): string {
  return text.replaceAll('\r\n', '\n').trimEnd();
}
