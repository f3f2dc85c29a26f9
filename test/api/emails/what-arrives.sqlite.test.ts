import { Resolver } from 'node:dns/promises';
import { createRequire } from 'node:module';
import PostalMime from 'postal-mime';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startScene, type Scene, type Team } from '../../rig/scene.ts';
import type { SinkMessage } from '../../rig/sink.ts';

// The verifier has no types for this module.
const { dkimVerify } = createRequire(import.meta.url)('mailauth/lib/dkim/verify') as {
  dkimVerify: (
    message: Buffer,
    options: { resolver: (name: string, type: string) => Promise<string[][]> },
  ) => Promise<{ results: { status: { result: string }; signingDomain: string; selector: string }[] }>;
};

describe('a sent message', () => {
  let scene: Scene;
  let team: Team;
  let domain: { id: string; name: string };
  beforeAll(async () => {
    scene = await startScene();
    team = await scene.team();
    domain = await team.domain();
  });
  afterAll(() => scene.close());

  async function arrive(fields: Record<string, unknown>): Promise<{ id: string; messages: SinkMessage[] }> {
    const body = { from: `a@${domain.name}`, to: 'x@example.org', subject: 'Hello', text: 'It works.', ...fields };
    const sent = await scene.api('POST', '/emails', { key: team.key, body });
    expect(sent.status).toBe(200);
    await scene.settled();
    const id = sent.body.id as string;
    return { id, messages: scene.sink.messages.filter(({ data }) => data.includes(id)) };
  }

  it('with only HTML has a generated text part, while the API returns the email as it was sent', async () => {
    const html =
      '<!doctype html><html><head><style>p{}</style></head><body><!-- x --><p>Hello <a href="https://a.example"><img src="https://a.example/1.png" alt="our shop"></a></p></body></html>';
    const { id, messages } = await arrive({ html, text: undefined });
    const mail = await PostalMime.parse(messages[0]?.data ?? '');
    expect(readHead(messages[0]!)).toContain('Content-Type: multipart/alternative');
    expect(mail.text?.trim()).toBe('Hello our shop (https://a.example)');
    expect(mail.html?.trim()).toBe(html);
    const { body } = await scene.api('GET', `/emails/${id}`, { key: team.key });
    expect([body.html, body.text]).toEqual([html, null]);
  });

  it.each([
    ['named references', '&uuml;&ouml;&szlig;&rarr;&rsquo;&eacute;&Eacute;&NotEqualTilde;', 'üöß→’éÉ≂̸'],
    ['numeric references', '&#8364;&#x20AC;&#128;&#146;&#x1F600', '€€€’😀'],
    ['references without a semicolon', 'caf&eacute 5 &gt 4 &copy2026 AT&T', 'café 5 > 4 ©2026 AT&T'],
    ['names that HTML does not know', '&nope; &rarr', '&nope; &rarr'],
    [
      'a link with references',
      '<a href="https://a.example/&uuml;?a=1&copy=2&amp;b">x</a>',
      'x (https://a.example/ü?a=1&copy=2&b)',
    ],
    ['a link to a place in itself', 'Go <a href="#top">to the top</a>.', 'Go to the top.'],
    [
      'preformatted lines',
      '<p>Run:</p><pre>\n  if (a &lt; b) {\n    go();\n\n\n  }\n</pre><p>and\nwait</p>',
      'Run:\n\n  if (a < b) {\n    go();\n\n\n  }\n\nand wait',
    ],
  ])('has %s in its generated text part as a browser shows it', async (_, html, text) => {
    const { messages } = await arrive({ html, text: undefined });
    const mail = await PostalMime.parse(messages[0]?.data ?? '');
    expect(mail.text?.replace(/\n+$/, '')).toBe(text);
  });

  it.each<[string, Record<string, unknown>]>([
    ['an empty text', { html: '<p>Hello</p>', text: '' }],
    ['HTML that shows nothing', { html: '<img src="https://a.example/1.png">', text: undefined }],
  ])('with %s gets no generated text part', async (_, fields) => {
    const { messages } = await arrive(fields);
    expect(readHead(messages[0]!)).toMatch(/Content-Type: text\/html/);
    expect(String(messages[0]?.data)).not.toContain('text/plain');
  });

  const readHead = (message: SinkMessage): string => message.data.toString('utf8').split('\r\n\r\n', 1)[0] ?? '';
  const verify = (data: Buffer) => {
    const dns = new Resolver();
    dns.setServers([scene.dns.server]);
    return dkimVerify(data, { resolver: (name) => dns.resolveTxt(name) });
  };

  it('has from, to, cc, reply-to, subject and both bodies as they were sent', async () => {
    const { id, messages } = await arrive({
      from: `"Example, Zoë" <a@${domain.name}>`,
      to: ['Ann <x@example.org>', 'y@example.org'],
      cc: ['Bört <c@example.org>'],
      reply_to: ['r1@example.net', 'R <r2@example.net>'],
      subject: 'Grüße 日本 😀 und ein langer Betreff, der über eine Zeile hinausgeht und gefaltet werden muss',
      html: '<p>Schöne Grüße</p>',
      text: 'Schöne Grüße\n.\n..zwei Punkte\nFrom here',
    });
    expect(messages).toHaveLength(1);
    const mail = await PostalMime.parse(messages[0]?.data ?? '');
    expect(mail.from).toEqual({ name: 'Example, Zoë', address: `a@${domain.name}` });
    expect(mail.to).toEqual([
      { name: 'Ann', address: 'x@example.org' },
      { name: '', address: 'y@example.org' },
    ]);
    expect(mail.cc).toEqual([{ name: 'Bört', address: 'c@example.org' }]);
    expect(mail.replyTo).toEqual([
      { name: '', address: 'r1@example.net' },
      { name: 'R', address: 'r2@example.net' },
    ]);
    expect(mail.subject).toBe(
      'Grüße 日本 😀 und ein langer Betreff, der über eine Zeile hinausgeht und gefaltet werden muss',
    );
    expect(mail.html?.trim()).toBe('<p>Schöne Grüße</p>');
    expect(mail.text?.trimEnd()).toBe('Schöne Grüße\n.\n..zwei Punkte\nFrom here');
    expect(mail.messageId).toBe(`<${id}@${domain.name}>`);
    const { body } = await scene.api('GET', `/emails/${id}`, { key: team.key });
    expect(body.message_id).toBe(mail.messageId);
    expect(messages[0]?.rcptTo).toEqual(['x@example.org', 'y@example.org', 'c@example.org']);
  });

  it('reaches bcc recipients without naming them', async () => {
    const { messages } = await arrive({
      cc: 'c@example.org',
      bcc: ['Hidden <hidden@example.org>', 'far@example.net', 'x@example.org'],
    });
    const recipients = messages.flatMap(({ rcptTo }) => rcptTo).sort();
    expect(recipients).toEqual(['c@example.org', 'far@example.net', 'hidden@example.org', 'x@example.org']);
    for (const { data } of messages) {
      // These characters cannot occur in signatures and ids by chance.
      expect(data.toString('latin1')).not.toMatch(/^bcc:|hidden[ @<]|far@example\.net/im);
    }
  });

  it('is sent once to an address in to, cc and bcc', async () => {
    const { messages } = await arrive({ to: 'x@example.org', bcc: 'x@example.org', cc: 'X@EXAMPLE.ORG' });
    expect(messages.flatMap(({ rcptTo }) => rcptTo)).toEqual(['x@example.org']);
  });

  it('has the headers of the caller as they were written, each once', async () => {
    const long = 'word '.repeat(60).trim();
    const { messages } = await arrive({
      headers: {
        'X-Entity-Ref-ID': '10042',
        'X-Umlaut': 'Grüße',
        'X-Long': long,
        'In-Reply-To': '<1@example.org>',
        __proto__x: 'p',
      },
      reply_to: 'r@example.net',
    });
    const mail = await PostalMime.parse(messages[0]?.data ?? '');
    const header = (key: string) => mail.headers.filter((entry) => entry.key === key).map(({ value }) => value);
    expect(header('x-entity-ref-id')).toEqual(['10042']);
    expect(header('x-long').map((value) => value.replace(/\s+/g, ' '))).toEqual([long]);
    expect(mail.inReplyTo).toBe('<1@example.org>');
    expect(header('x-umlaut')).toHaveLength(1);
    for (const name of ['from', 'to', 'subject', 'date', 'message-id', 'mime-version', 'reply-to']) {
      expect(header(name), name).toHaveLength(1);
    }
    for (const line of readHead(messages[0] as SinkMessage).split('\r\n'))
      expect(Buffer.byteLength(line)).toBeLessThan(999);
  });

  it('has a Reply-To from the headers or reply_to, and never two', async () => {
    const alone = await arrive({ headers: { 'Reply-To': 'h@example.net' } });
    expect(readHead(alone.messages[0] as SinkMessage).match(/^Reply-To:.*$/gim)).toEqual(['Reply-To: h@example.net']);
    const both = await arrive({ headers: { 'reply-to': 'h@example.net' }, reply_to: 'field@example.net' });
    expect(readHead(both.messages[0] as SinkMessage).match(/^Reply-To:.*$/gim)).toHaveLength(1);
  });

  it('has its own return path below the domain, which no header names', async () => {
    const one = await arrive({});
    const other = await arrive({});
    const paths = [one, other].map(({ messages }) => messages[0]?.mailFrom ?? '');
    for (const path of paths)
      expect(path).toMatch(new RegExp(`^b-[0-9a-v]{8}-[0-9a-v]{26}-[0-9a-v]{10}@send\\.${domain.name}$`));
    expect(new Set(paths).size).toBe(2);
    expect(readHead(one.messages[0] as SinkMessage)).not.toMatch(/^return-path:/im);
  });

  it('has a return path for each destination, and the same bytes for all recipients', async () => {
    const { messages } = await arrive({ to: ['x@example.org', 'y@example.net', 'z@example.com'] });
    expect(new Set(messages.map(({ mailFrom }) => mailFrom)).size).toBe(3);
    expect(new Set(messages.map(({ data }) => data.toString('base64'))).size).toBe(1);
  });

  it.each([
    ['plain text', {}],
    ['text beyond ASCII with long lines', { text: `é${'x'.repeat(5000)}\n` }],
    ['an empty text', { text: '' }],
    ['trailing spaces and empty lines', { text: 'a  \n\n\n  \n' }],
    ['html with an attachment', { html: '<p>é</p>', attachments: [{ filename: 'a.bin', content: 'AAEC' }] }],
    ['headers of the caller', { headers: { 'X-A': '  a   b\tc', 'In-Reply-To': '<1@example.org>' }, subject: '' }],
    ['a long list of recipients', { to: Array.from({ length: 50 }, (_, i) => `Nöme ${i} <n${i}@example.org>`) }],
  ])('with %s has a DKIM signature that verifies against the published record', async (_, fields) => {
    const { messages } = await arrive(fields);
    const { results } = await verify(messages[0]?.data ?? Buffer.alloc(0));
    // There is one by each of the domain’s keys.
    const passed = ['pass', domain.name];
    expect(results.map(({ status, signingDomain }) => [status.result, signingDomain])).toEqual([passed, passed]);
    const tampered = Buffer.from(
      (messages[0]?.data.toString('latin1') ?? '').replace(/^From: /im, 'From: x'),
      'latin1',
    );
    expect((await verify(tampered)).results[0]?.status.result).not.toBe('pass');
  });

  it('from an internationalized domain uses its A-label in address and signature', async () => {
    const idn = await team.domain('grüße.example.com');
    const { messages } = await arrive({ from: `Zoë <a@${idn.name}>`, to: 'x@bücher.example' });
    expect(messages[0]?.rcptTo).toEqual(['x@xn--bcher-kva.example']);
    expect(messages[0]?.mailFrom).toMatch(/@send\.xn--gre-6ka8l\.example\.com$/);
    const { results } = await verify(messages[0]?.data ?? Buffer.alloc(0));
    expect(results[0]).toMatchObject({ status: { result: 'pass' }, signingDomain: 'xn--gre-6ka8l.example.com' });
  });

  it('contains no tags, which only the team can read', async () => {
    const tags = [
      { name: 'kind', value: 'receipt-7f3a' },
      { name: 'kind', value: 'second-7f3a' },
    ];
    const { id, messages } = await arrive({ tags });
    expect((await scene.api('GET', `/emails/${id}`, { key: team.key })).body.tags).toEqual(tags);
    for (const { value } of tags) expect(messages[0]?.data.toString('latin1')).not.toContain(value);
  });

  it('that was scheduled leaves at its time and not before, with that date', async () => {
    const at = new Date(scene.clock.now() + 3_600_000);
    const scheduled = await arrive({ scheduled_at: at.toISOString() });
    expect(scheduled.messages).toEqual([]);
    scene.clock.advance(3_599_000);
    await scene.settled();
    expect((await scene.account(team, scheduled.id)).state).toBe('scheduled');
    scene.clock.advance(1_000);
    await scene.settled();
    const message = scene.sink.messages.find(({ data }) => data.includes(scheduled.id));
    const mail = await PostalMime.parse(message?.data ?? '');
    expect(new Date(mail.date ?? '').getTime()).toBe(Math.floor(at.getTime() / 1000) * 1000);
    expect(await scene.account(team, scheduled.id)).toEqual({
      state: 'delivered',
      events: ['email.scheduled', 'email.sent', 'email.delivered'],
    });
  });
});
