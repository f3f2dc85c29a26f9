import { describe, expect, it } from 'vitest';
import { diagnose, buildFacts, type EmailHistory } from './email-diagnosis.ts';

const AT = '2026-11-20T09:30:00.000Z';
const SECRET = 'PLANTED';

/** Every field of an email and its history, except for domains of recipients, is treated as a secret. */
const planted = {
  email: {
    object: 'email',
    id: SECRET,
    from: `${SECRET} <${SECRET}@${SECRET}.example>`,
    subject: SECRET,
    html: SECRET,
    text: SECRET,
    message_id: SECRET,
    reply_to: [SECRET],
    topic_id: SECRET,
    scheduled_at: SECRET,
    tags: [{ name: SECRET, value: SECRET }],
    to: [`"${SECRET}" <${SECRET}1@one.example>`, `${SECRET}2@two.example`],
    cc: [`${SECRET}3@one.example`],
    bcc: [`${SECRET}4 not an address`],
    last_event: SECRET,
    created_at: SECRET,
  },
  events: [
    {
      id: SECRET,
      type: `email.${SECRET}`,
      created_at: SECRET,
      explanation: SECRET,
      advice: SECRET,
      data: { to: [SECRET], [SECRET]: SECRET, machine: SECRET },
    },
    {
      type: 'email.bounced',
      created_at: AT,
      data: {
        to: [`${SECRET}1@one.example`],
        bounce: {
          type: SECRET,
          subType: SECRET,
          message: SECRET,
          diagnosticCode: [`550 5.1.1 <${SECRET}@x> ${SECRET}`],
        },
      },
    },
    { type: 'email.failed', created_at: AT, data: { failed: { reason: SECRET, message: SECRET } } },
    { type: 'email.suppressed', created_at: AT, data: { suppressed: { reason: SECRET, message: SECRET } } },
    { type: 'email.clicked', created_at: AT, data: { click: { link: SECRET, ipAddress: SECRET, userAgent: SECRET } } },
    {
      type: 'email.opened',
      created_at: AT,
      data: { open: { ipAddress: SECRET, userAgent: SECRET, timestamp: SECRET } },
    },
  ],
  attempts: [
    {
      id: SECRET,
      created_at: SECRET,
      attempt: SECRET,
      destination: `${SECRET} of no host`,
      mx: SECRET,
      address: SECRET,
      tls: { version: SECRET, cipher: SECRET },
      duration_ms: SECRET,
      transcript: [SECRET],
      recipients: [
        {
          email: `${SECRET}1@one.example`,
          outcome: SECRET,
          reason: SECRET,
          reply: `${SECRET} 550 5.7.1 ${SECRET}`,
          explanation: SECRET,
          advice: SECRET,
        },
        { email: SECRET, outcome: 'bounced', reason: null, reply: `5xx ${SECRET}: user ${SECRET} unknown` },
        { email: SECRET, outcome: 'deferred', reason: 'refused_for_now', reply: `421 4.7.0 ${SECRET}` },
      ],
    },
  ],
  pending: [
    { destination: `${SECRET}@two.example`, recipients: [SECRET], state: SECRET, attempts: SECRET, until: SECRET },
  ],
  suppressed: [{ email: `${SECRET}2@two.example`, origin: SECRET, created_at: SECRET }],
};

describe('the facts that a model receives about an email', () => {
  it('contain no text that anybody wrote, in any field', () => {
    const facts = buildFacts(planted as unknown as EmailHistory);
    for (const told of [facts, diagnose(facts)]) expect(JSON.stringify(told)).not.toMatch(/planted|@/i);
  });

  it('contain the domains of the recipients, the states and the times', () => {
    const facts = buildFacts(planted as unknown as EmailHistory);
    expect(facts.recipients).toEqual([
      { number: 1, domain: 'one.example' },
      { number: 2, domain: 'two.example' },
      { number: 3, domain: 'one.example' },
      { number: 4, domain: 'unreadable' },
    ]);
    expect(facts.events.find(({ type }) => type === 'bounced')).toMatchObject({
      at: AT,
      recipients: [1],
      result: { outcome: 'bounced', code: '550 5.1.1' },
    });
  });
});

describe('the diagnosis without a model', () => {
  const history = (given: Partial<EmailHistory> & { state?: string }): EmailHistory => ({
    email: { last_event: given.state ?? 'sent', created_at: AT, to: ['a@one.example'], cc: [], bcc: [] },
    events: [],
    attempts: [],
    pending: [],
    suppressed: [],
    ...given,
  });
  const attempt = (outcome: 'delivered' | 'deferred', reply: string | null, count = 1) => ({
    created_at: AT,
    attempt: count,
    destination: 'one.example',
    mx: 'mx.one.example',
    address: '192.0.2.1',
    tls: null,
    recipients: [{ email: 'a@one.example', outcome, reason: null, reply }],
  });

  it('names no cause when the email was delivered', () => {
    const well = history({ state: 'delivered', attempts: [attempt('delivered', '250 ok')] });
    expect(diagnose(buildFacts(well))).toEqual({
      summary: 'It was delivered. It has one recipient, at one.example.',
      likely_causes: [],
      next_steps: ['No action is needed.'],
    });
  });

  it('uses the last attempt of a recipient, and not the earlier ones', () => {
    const tried = history({
      state: 'delivery_delayed',
      // Newest first.
      attempts: [attempt('deferred', '452 4.2.2 Mailbox full', 2), attempt('deferred', '450 4.2.0 Greylisted', 1)],
      pending: [{ destination: 'one.example', state: 'waiting', attempts: 2, until: AT }],
    });
    const { likely_causes: causes, next_steps: steps } = diagnose(buildFacts(tried));
    expect(causes).toHaveLength(1);
    expect(causes[0]).toMatch(/^one\.example: .*full.* \(452 4\.2\.2\)$/);
    expect(steps).toContain(`one.example will be retried automatically (${AT}).`);
    const done = history({
      state: 'delivered',
      attempts: [attempt('delivered', '250 ok', 2), attempt('deferred', '450 no')],
    });
    expect(diagnose(buildFacts(done)).likely_causes).toEqual([]);
  });

  it('says that a complaint marked the email as spam', () => {
    expect(diagnose(buildFacts(history({ state: 'complained' }))).likely_causes.join()).toContain('spam');
  });
});
