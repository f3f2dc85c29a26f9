import nodemailer from 'nodemailer';
import { createAccept } from '../../src/mail/accept/index.ts';
import { composeAccountMail, type AccountMail } from '../../src/features/identity/account-mail/account-mail-texts.ts';
import { sendAccountMail } from '../../src/features/identity/account-mail/account-mails.ts';
import { createAdminNotices } from '../../src/features/webhooks/delivery/webhook-sender.ts';
import { administerTeam } from '../../src/tenancy/teams/index.ts';
import { disableWebhook } from '../../src/features/webhooks/endpoints/webhooks.ts';
import { line, start, step } from '../api/automations/graph.ts';
import { campaignIn } from '../flow/campaign.ts';
import { publishTracking } from '../flow/reader.ts';
import { writingInbox } from '../rig/inbox.ts';
import { createPeople } from '../rig/people.ts';
import type { Scene, Team } from '../rig/scene.ts';
import type { SinkMessage } from '../rig/sink.ts';
import { plantWebhook } from '../rig/webhooks.ts';
import { connect, logIn, findPort } from '../smtp/dialogue.ts';

export interface Sample {
  kind: string;
  message: SinkMessage;
}

const READER = 'Maria Keller <maria.keller@reader.example>';
const READER_ADDRESS = 'maria.keller@reader.example';

const TEXT = [
  'Dear Maria Keller,',
  '',
  'thank you for your order 1041 of 26 November. The following items left our warehouse this morning and will arrive by Friday:',
  '',
  '2 packs of green tea, 250 g each',
  '1 teapot of cast iron, 0.8 litres',
  '',
  'The total is 64.50 EUR, which was charged to the card you gave us. You find the invoice in your account:',
  'https://shop.example.com/orders/1041',
  '',
  'If something is missing or broken, answer this email and we will put it right.',
  '',
  'Kind regards',
  'The team of Example Teas, 1 Mail Street, 10115 Berlin',
].join('\n');

const HTML = [
  '<!doctype html>',
  '<html lang="en"><head><meta charset="utf-8"><title>Your order 1041</title></head><body>',
  '<p>Dear Maria Keller,</p>',
  '<p>thank you for your order 1041 of 26 November. The following items left our warehouse this morning and will arrive by Friday:</p>',
  '<ul><li>2 packs of green tea, 250 g each</li><li>1 teapot of cast iron, 0.8 litres</li></ul>',
  '<p>The total is 64.50 EUR, which was charged to the card you gave us. You find the invoice <a href="https://shop.example.com/orders/1041">in your account</a>.</p>',
  '<p>If something is missing or broken, answer this email and we will put it right.</p>',
  '<p>Kind regards<br>The team of Example Teas, 1 Mail Street, 10115 Berlin</p>',
  '</body></html>',
].join('\n');

const INTERNATIONAL = [
  'Sehr geehrte Frau Müller-Lüdenscheidt,',
  '',
  'vielen Dank für Ihre Bestellung 1041. Die Ware verlässt heute früh unser Lager und trifft bis Freitag bei Ihnen ein.',
  '',
  '2 Päckchen grüner Tee, je 250 g — 1 Teekanne aus Gusseisen, 0,8 Liter',
  '',
  'Mit freundlichen Grüßen',
  'Ihr Team von Example Teas, Briefstraße 1, 10115 Berlin',
].join('\n');

const JAPANESE = [
  '東京 太郎 様',
  '',
  'このたびはご注文いただき、ありがとうございます。ご注文 1041 の商品は本日発送いたしました。金曜日までにお届けします。',
  '',
  '緑茶 250 グラム 2 袋、鉄瓶 0.8 リットル 1 個。商品に問題がございましたら、このメールにご返信ください。',
].join('\n');

const PDF = Buffer.from(
  '%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj\n3 0 obj<</Type/Page/MediaBox[0 0 595 842]/Parent 2 0 R>>endobj\ntrailer<</Root 1 0 R>>\n%%EOF\n',
).toString('base64');
/** A picture of one pixel. */
const PNG = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

/** Sends one email of every kind, each to a server that takes all, and lists what came to it. */
export async function sendSamples(scene: Scene): Promise<Sample[]> {
  const team = await scene.team('Example Teas');
  const domain = await team.domain();
  const from = `Example Teas <orders@${domain.name}>`;
  const call = async (path: string, body: object, method = 'POST', as: Pick<Team, 'key'> = team) => {
    const answer = await scene.api(method, path, { key: as.key, body });
    if (answer.status >= 300) throw new Error(`${method} ${path} was answered with ${answer.text}`);
    return answer.body;
  };
  const samples: Sample[] = [];
  /** Runs what sends one email, and files what came of it under its kind. */
  const sample = async (kind: string, send: () => Promise<unknown>): Promise<void> => {
    const seen = scene.sink.messages.length;
    await send();
    await scene.settled();
    const arrived = scene.sink.messages.slice(seen);
    if (arrived.length !== 1)
      throw new Error(`${kind}: ${arrived.length} messages arrived, and one was sent\n${scene.log.slice(-5).join('')}`);
    for (const message of arrived) samples.push({ kind, message });
  };
  const email = (body: object) =>
    call('/emails', { from, to: READER, subject: 'Your order 1041 is on its way', ...body });

  await sample('text alone', () => email({ text: TEXT }));
  await sample('a text of one line', () => email({ subject: 'Your code', text: 'Your code is 482913.' }));
  await sample('HTML alone', () => email({ html: HTML }));
  await sample('HTML and text', () => email({ html: HTML, text: TEXT }));
  await sample('HTML whose sender wants no text', () => email({ html: HTML, text: '' }));
  await sample('characters beyond ASCII', () =>
    email({
      to: 'Jörg Müller-Lüdenscheidt <joerg@reader.example>',
      subject: 'Ihre Bestellung 1041 für Frau Müller-Lüdenscheidt ist unterwegs: grüner Tee aus Zürich',
      text: INTERNATIONAL,
      html: `<p>${INTERNATIONAL.replaceAll('\n\n', '</p><p>')}</p>`,
    }),
  );
  await sample('characters beyond Latin', () =>
    email({
      from: `お茶の店 <orders@${domain.name}>`,
      to: '東京 太郎 <taro@reader.example>',
      subject: 'ご注文 1041 を発送しました',
      text: JAPANESE,
      html: `<p>${JAPANESE.replaceAll('\n\n', '</p><p>')}</p>`,
    }),
  );
  await sample('an image alone', () =>
    email({
      html: '<img src="cid:poster" alt="New teas in November" width="600" height="800">',
      attachments: [{ filename: 'poster.png', content: PNG, content_id: 'poster' }],
    }),
  );
  await sample('a sender without a name', () => email({ from: `orders@${domain.name}`, text: TEXT }));
  await sample('an empty text', () => email({ text: '' }));
  await sample('several recipients and a copy', () =>
    email({
      to: [READER, 'office@reader.example'],
      cc: 'copy@reader.example',
      bcc: 'archive@reader.example',
      text: TEXT,
    }),
  );
  await sample('a blind copy', () => email({ to: 'office@reader.example', bcc: READER_ADDRESS, text: TEXT }));
  await sample('attachments', () =>
    email({
      html: HTML,
      attachments: [
        { filename: 'invoice-1041.pdf', content: PDF },
        { filename: 'Übersicht.csv', content: Buffer.from('item;price\ntea;12,50\n').toString('base64') },
        { filename: 'delivery.txt', content: Buffer.from('Delivery by Friday.\n').toString('base64') },
      ],
    }),
  );
  await sample('text with an attachment', () =>
    email({ text: TEXT, attachments: [{ filename: 'invoice-1041.pdf', content: PDF }] }),
  );
  await sample('inline images', () =>
    email({
      html: HTML.replace('<ul>', '<p><img src="cid:logo" alt="Example Teas" width="120" height="40"></p><ul>'),
      attachments: [{ filename: 'logo.png', content: PNG, content_id: 'logo' }],
    }),
  );
  await sample('a long line', () => email({ text: `${TEXT}\n\n${TEXT.replaceAll('\n', ' ').repeat(4)}` }));
  await sample('headers of the sender', () =>
    email({ text: TEXT, reply_to: `help@${domain.name}`, headers: { 'X-Entity-Ref-ID': '1041' } }),
  );
  await sample('a calendar invitation', () =>
    email({
      html: HTML,
      attachments: [
        {
          filename: 'delivery.ics',
          content_type: 'text/calendar; method=REQUEST',
          content: Buffer.from(CALENDAR).toString('base64'),
        },
      ],
    }),
  );
  await sample('scheduled', async () => {
    await email({ text: TEXT, scheduled_at: new Date(scene.clock.now() + 60_000).toISOString() });
    scene.clock.advance(61_000);
  });
  await sample('a template', async () => {
    const { id } = await call('/templates', {
      name: 'Shipped',
      from,
      subject: 'Your order {{{ORDER}}} is on its way',
      html: HTML.replaceAll('1041', '{{{ORDER}}}'),
      variables: [{ key: 'ORDER', type: 'string' }],
    });
    await call(`/templates/${id}/publish`, {});
    await call('/emails', { to: READER, template: { id, variables: { ORDER: '1041' } } });
  });
  await sample('topic mail', async () => {
    const { id } = await call('/topics', { name: 'Offers', default_subscription: 'opt_in' });
    await email({ subject: 'New teas in November', html: HTML, topic_id: id });
  });
  await sample('tracked', async () => {
    const tracked = { open_tracking: true, click_tracking: true, tracking_subdomain: 'links' };
    await publishTracking(scene, team, domain.id, tracked);
    await email({ html: HTML });
    await call(`/domains/${domain.id}`, { open_tracking: false, click_tracking: false }, 'PATCH');
  });

  const campaign = await campaignIn(scene);
  await campaign.addContacts([READER_ADDRESS]);
  const news = { from: `Example Teas <news@${campaign.domain.name}>`, subject: 'New teas in November' };
  await sample('a broadcast', () => campaign.broadcast({ ...news, html: HTML }));
  await sample('a broadcast of text', () =>
    campaign.broadcast({ ...news, html: undefined, text: `${TEXT}\n\n{{{UNSUBSCRIBE_URL}}}` }),
  );
  await sample('a broadcast of a topic', async () =>
    campaign.broadcast({
      ...news,
      html: HTML,
      topic_id: await campaign.make('/topics', { name: 'Offers', default_subscription: 'opt_in' }),
    }),
  );
  await sample('a test of a broadcast', async () => {
    const id = await campaign.broadcast({ ...news, html: HTML, send: false });
    await campaign.call('POST', `/broadcasts/${id}/test`, { to: [READER_ADDRESS] });
  });
  await sample('an automation', async () => {
    const { id: template } = await call('/templates', { name: 'Welcome', subject: 'Welcome', html: HTML });
    await call(`/templates/${template}/publish`, {});
    await call('/events', { name: 'order' });
    await call('/contacts', { email: READER_ADDRESS });
    const mail = step('mail', 'send_email', { from, subject: 'Welcome to Example Teas', template: { id: template } });
    await call('/automations', { name: 'Welcome', status: 'enabled', ...line(start, mail) });
    await call('/events/send', { event: 'order', email: READER_ADDRESS });
  });
  await sample('a confirmation', async () => {
    const { id: template } = await call('/templates', {
      name: 'Confirm',
      from,
      subject: 'Please confirm {{{TOPIC_NAME}}}',
      html: `${HTML}<p><a href="{{{CONFIRMATION_URL}}}">Yes, send me the newsletter</a></p>`,
      variables: [
        { key: 'CONFIRMATION_URL', type: 'string' },
        { key: 'TOPIC_NAME', type: 'string' },
      ],
    });
    await call(`/templates/${template}/publish`, {});
    const { id } = await call('/topics', {
      name: 'Newsletter',
      default_subscription: 'opt_out',
      visibility: 'public',
      confirmation: 'required',
      confirmation_template_id: template,
    });
    await call('/contacts/' + READER_ADDRESS + '/topics', { topics: [{ id, subscription: 'opt_in' }] }, 'PATCH');
  });

  const inbox = await writingInbox(scene, team, { from_name: 'Grace', signature: 'Grace\nExample Teas' });
  const question = await inbox.arrive({
    from: READER,
    mailFrom: READER_ADDRESS,
    text: TEXT,
    content: [
      'Content-Type: multipart/mixed; boundary=b',
      '',
      '--b',
      'Content-Type: text/plain; charset=utf-8',
      '',
      TEXT,
      '--b',
      'Content-Type: text/plain; name="note.txt"',
      'Content-Disposition: attachment; filename="note.txt"',
      '',
      'a note',
      '--b--',
    ],
  });
  const inboxCall = async (below: string, body: object): Promise<void> => {
    const answer = await inbox.call('POST', below, { body });
    if (answer.status >= 300) throw new Error(`${below} was answered with ${answer.text}`);
  };
  await sample('an answer from an inbox', () =>
    inboxCall(`${question.path}/reply`, { text: 'It is on its way, and will arrive by Friday.' }),
  );
  await sample('a formatted answer from an inbox', () =>
    inboxCall(`${question.path}/reply`, { html: '<p>It is on its way, and will <b>arrive by Friday</b>.</p>' }),
  );
  await sample('a forward from an inbox', () =>
    inboxCall(`${question.path}/forward`, { to: READER_ADDRESS, text: 'Please see below.' }),
  );

  const owner = await createPeople(scene).person({ team, role: 'owner' });
  await sample('an invitation', () =>
    owner.call('POST', `/teams/${team.id}/invitations`, { email: READER_ADDRESS, role: 'admin' }),
  );
  const post = (path: string, body: object) => scene.api('POST', path, { body, headers: { origin: scene.url } });
  await sample('account: sign-up', () =>
    post('/auth/signup', { email: 'new@reader.example', password: 'correct horse battery staple' }),
  );
  await sample('account: password reset', () => post('/auth/password-reset', { email: owner.email }));
  const accept = createAccept(scene.app.world, () => scene.app.queue?.wake());
  for (const kind of ACCOUNT_NOTICES) {
    await sample(`account: ${kind}`, () => {
      const mail: AccountMail = { kind, address: '198.51.100.7', at: scene.clock.now() };
      const sent = composeAccountMail(scene.app.world.origin(), mail);
      return sendAccountMail(scene.app.world, accept, { kind, occasion: kind, to: READER_ADDRESS, ...sent });
    });
  }
  await sample('a webhook was disabled', async () => {
    const id = await plantWebhook(scene, team);
    await administerTeam(scene.app.world, team.id, { adminEmails: [READER_ADDRESS] });
    await disableWebhook(scene.app.world, id, 'failing');
    const notices = createAdminNotices(scene.app.world, accept);
    notices.start();
    await notices.idle();
    await notices.stop(0);
  });

  const sender = `orders@${domain.name}`;
  const transport = nodemailer.createTransport({
    host: '127.0.0.1',
    port: findPort(scene, 'tls'),
    secure: true,
    auth: { user: 'rasket', pass: team.key },
    tls: { rejectUnauthorized: false },
  });
  await sample('submitted over SMTP by a mail library', () =>
    transport.sendMail({
      from,
      to: READER,
      subject: 'Your order 1041 is on its way',
      text: TEXT,
      html: HTML,
      attachments: [{ filename: 'invoice-1041.pdf', content: Buffer.from(PDF, 'base64') }],
    }),
  );
  transport.close();
  const submitted = async (head: string, { mail = '', rcpt = '', to = READER_ADDRESS } = {}): Promise<void> => {
    const session = await connect(scene, 'tls');
    await logIn(session, team.key);
    const said = [await session.say(`MAIL FROM:<${sender}>${mail}`), await session.say(`RCPT TO:<${to}>${rcpt}`)];
    await session.say('DATA');
    session.send(`${head}\r\n${TEXT.replaceAll('\n', '\r\n')}\r\n.\r\n`);
    said.push((await session.reply()).join('\n'));
    session.end();
    if (!said.every((reply) => reply.startsWith('250'))) throw new Error(session.transcript.join('\n'));
  };
  await sample('submitted over SMTP with the least headers', () =>
    submitted(`From: ${from}\r\nTo: ${READER}\r\nSubject: Your order 1041 is on its way\r\n`),
  );
  const head = `From: ${from}\r\nTo: ${READER}\r\nSubject: Your order 1041\r\n`;
  const noticed = async (kind: string, how: Parameters<typeof submitted>[1]): Promise<void> => {
    const seen = scene.sink.messages.length;
    await submitted(head, how);
    await scene.settled();
    const notices = scene.sink.messages.slice(seen).filter(({ mailFrom }) => mailFrom === '');
    if (notices.length !== 1) throw new Error(`${kind}: ${notices.length} notices arrived`);
    for (const message of notices) samples.push({ kind, message });
  };
  await noticed('a notice of failure', { rcpt: ' NOTIFY=FAILURE', to: 'permfail@reader.example' });
  await noticed('a notice of failure with the whole message', {
    mail: ' RET=FULL',
    rcpt: ' NOTIFY=FAILURE',
    to: 'permfail@reader.example',
  });
  await noticed('a notice of success', { rcpt: ' NOTIFY=SUCCESS' });
  return samples;
}

const CALENDAR = [
  'BEGIN:VCALENDAR',
  'VERSION:2.0',
  'PRODID:-//Example Teas//EN',
  'METHOD:REQUEST',
  'BEGIN:VEVENT',
  'UID:1041@example',
  'DTSTAMP:20261126T100000Z',
  'DTSTART:20261127T100000Z',
  'DTEND:20261127T110000Z',
  'SUMMARY:Delivery',
  'END:VEVENT',
  'END:VCALENDAR',
  '',
].join('\r\n');

const ACCOUNT_NOTICES = [
  'exists',
  'password_changed',
  'password_reset',
  'mfa_enabled',
  'mfa_disabled',
  'mfa_reset',
  'recovery_codes_replaced',
  'recovery_code_used',
  'app_shut_out',
  'approval_waits',
] as const;
