import { describe, expect, test } from 'vitest';
import type { EmailRow } from '../../../mail/emails/index.ts';
import { renderPayload, type PayloadEvent } from './payload.ts';

const AT = Date.UTC(2026, 0, 2, 3, 4, 5, 678);
const EMAIL_ID = '019b7c5e-7c00-7000-8000-000000000001';
const email = {
  id: EMAIL_ID,
  sender: 'Ann <ann@example.com>',
  to_list: '["One <one@example.org>","two@example.org"]',
  subject: 'Hello',
  message_id: `<${EMAIL_ID}@example.com>`,
  template_id: null,
  tags: null,
  headers: null,
  created_at: AT - 1000,
} as EmailRow;

/** Returns the data of the payload for an event, whose recorded data may exceed its type. */
const told = (
  event: Pick<PayloadEvent, 'type' | 'at'> & { subjectId?: string; data?: object },
  row: EmailRow | 'gone' = email,
): Record<string, unknown> =>
  (
    JSON.parse(renderPayload(event as PayloadEvent, row === 'gone' ? undefined : row)) as {
      data: Record<string, unknown>;
    }
  ).data;

const envelope = {
  email_id: EMAIL_ID,
  from: 'Ann <ann@example.com>',
  to: ['One <one@example.org>', 'two@example.org'],
  subject: 'Hello',
  message_id: `<${EMAIL_ID}@example.com>`,
  created_at: '2026-01-02T03:04:04.678Z',
};

describe('the payload of an email event', () => {
  test('is the envelope, in a fixed order', () => {
    const event = { id: 'e', teamId: 't', type: 'email.sent', at: AT, subjectId: EMAIL_ID } as const;
    expect(renderPayload(event, email)).toBe(
      JSON.stringify({ type: 'email.sent', created_at: '2026-01-02T03:04:05.678Z', data: envelope }),
    );
  });

  test('contains the recipients of the event, and tags, headers and the template if there are any', () => {
    const row = { ...email, tags: '[{"name":"k","value":"v"}]', headers: '[["X-A","1"]]', template_id: 't' };
    const event = { type: 'email.delivered', at: AT, subjectId: EMAIL_ID, data: { to: ['two@example.org'] } } as const;
    expect(told(event, row)).toEqual({
      ...envelope,
      to: ['two@example.org'],
      template_id: 't',
      tags: { k: 'v' },
      headers: [{ name: 'X-A', value: '1' }],
    });
  });

  test.each([
    ['email.bounced', 'bounce'],
    ['email.opened', 'open'],
    ['email.clicked', 'click'],
    ['email.failed', 'failed'],
    ['email.suppressed', 'suppressed'],
    ['email.delivery_delayed', 'delay'],
  ] as const)('for %s adds %s, and no other recorded field', (type, key) => {
    const data = { [key]: { detail: 1 }, secret: 'ours' };
    expect(told({ type, at: AT, subjectId: EMAIL_ID, data })).toEqual({ ...envelope, [key]: { detail: 1 } });
  });

  test('contains only what the event recorded when the email is past its retention', () => {
    const event = { type: 'email.delivered', at: AT, subjectId: EMAIL_ID, data: { to: ['x@y.example'] } } as const;
    const gone = { ...envelope, from: '', to: ['x@y.example'], subject: '', message_id: '' };
    expect(told(event, 'gone')).toEqual({ ...gone, created_at: expect.stringMatching(/^2026-01-0\dT/) });
  });
});

test('a tag named __proto__ is included like any other', () => {
  const row = { ...email, tags: '[{"name":"__proto__","value":"v"}]' };
  expect(renderPayload({ id: 'e', teamId: 't', type: 'email.sent', at: AT, subjectId: EMAIL_ID }, row)).toContain(
    '"tags":{"__proto__":"v"}',
  );
});

test('a domain event contains only documented fields, and a suppression event what was recorded', () => {
  const data = { object: 'domain', id: 'd', name: 'n', status: 's', created_at: 'c', region: 'r', records: [], x: 1 };
  expect(told({ type: 'domain.updated', at: AT, subjectId: 'd', data }, 'gone')).toEqual({
    id: 'd',
    name: 'n',
    status: 's',
    created_at: 'c',
    region: 'r',
    records: [],
  });
  const added = { id: 'sup_1', email: 'a@b.example', origin: 'manual', source_id: null, created_at: 'c' };
  expect(told({ type: 'suppression.added', at: AT, subjectId: 'sup_1', data: added }, 'gone')).toEqual(added);
});
