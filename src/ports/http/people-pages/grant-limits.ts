import type { Scope } from '../../../contract/index.ts';
import { isoTime } from '../../../platform/clock/index.ts';
import { invalidField } from '../../../platform/refusal/index.ts';
import { EMAILS_MAX, type Limited, type LimitsAsked } from '../../../features/identity/oauth/index.ts';
import { timeInWords } from '../share-page/index.ts';
import type { Field } from './elements.ts';
import type { Fields } from './read-fields.ts';

const DAY_MS = 24 * 3_600_000;
const DAYS = [1, 7, 30, 90, 365];

const APPROVALS = [
  { value: 'none', label: 'Nothing' },
  { value: 'broadcasts', label: 'Sending a broadcast' },
  { value: 'sends', label: 'Everything that sends mail or may start it' },
  { value: 'changes', label: 'Everything that changes or sends anything' },
] as const;

const MAY_SEND: ReadonlySet<Scope> = new Set([
  ...(['emails:send', 'broadcasts:write', 'events:send', 'contacts:write', 'automations:write'] as const),
]);

const UNCOUNTED =
  'Then it sends no broadcasts, reports no events, moves no scheduled emails and changes no contacts or automations, unless you approve it.';

/**
 * How a person keeps an app to less than its scopes; what makes no difference to these scopes is not asked. With `days` the end
 * of another grant is not kept: it is begun with so many days, or with none.
 */
export function limitFields(scopes: readonly Scope[], now?: Limited, days?: number | null): Field[] {
  return [
    ...(scopes.some((scope) => !scope.endsWith(':read')) ? changeFields(now) : []),
    ...(scopes.some((scope) => MAY_SEND.has(scope)) ? sendFields(now) : []),
    days === undefined ? endField(now?.expiresAt ?? null) : { ...endField(null), value: String(days ?? 'never') },
  ];
}

const changeFields = (now: Limited | undefined): Field[] => [
  {
    ...{ name: 'read_only', type: 'checkbox', autocomplete: 'off', label: 'It may only read' },
    isChecked: now?.limits.readOnly === true,
  },
  {
    ...{ name: 'approval', autocomplete: 'off', label: 'You approve first', options: APPROVALS },
    ...{ value: now?.limits.approval ?? 'none' },
    hint: 'Until then it waits under your account, and you are told by mail.',
  },
];

const sendFields = (now: Limited | undefined): Field[] => [
  {
    ...{ name: 'own_domains', type: 'checkbox', autocomplete: 'off', hint: UNCOUNTED },
    label: 'It writes to addresses of your team’s own domains alone',
    isChecked: now?.limits.recipients === 'own_domains',
  },
  {
    ...{ name: 'emails_per_day', type: 'number', inputmode: 'numeric', autocomplete: 'off', isOptional: true },
    ...{ label: 'At most so many emails a day, one for each recipient', hint: UNCOUNTED },
    value: now?.limits.emailsPerDay?.toString() ?? '',
  },
];

/** The longest choice that ends no later than it does, or the shortest; null for none. */
export function daysUntil(limited: Limited | undefined, now: number): number | null {
  const end = limited?.expiresAt ?? null;
  if (end === null) return null;
  return DAYS.findLast((days) => now + days * DAY_MS <= end) ?? DAYS[0] ?? null;
}

const endField = (expiresAt: number | null): Field => ({
  ...{ name: 'ends', autocomplete: 'off', label: 'It ends', value: expiresAt === null ? 'never' : 'keep' },
  options: [
    ...(expiresAt === null ? [] : [{ value: 'keep', label: timeInWords(expiresAt) }]),
    { value: 'never', label: 'When you end it' },
    ...DAYS.map((days) => ({ value: String(days), label: days === 1 ? 'After a day' : `After ${days} days` })),
  ],
});

/**
 * What a form with these fields says; a number that is none is left to who reads the limits. What a form of ours never says is
 * refused: taken for no limit, it would let an app do what was not allowed.
 */
export function limitsIn(form: Fields, now: number): LimitsAsked {
  const count = form.get('emails_per_day')?.trim() ?? '';
  const ends = form.get('ends');
  return {
    read_only: isTicked(form, 'read_only'),
    approval: approvalIn(form.get('approval') ?? 'none'),
    recipients: isTicked(form, 'own_domains') ? 'own_domains' : 'any',
    emails_per_day: count === '' ? null : /^\d{1,7}$/.test(count) ? Number(count) : EMAILS_MAX + 1,
    ...(ends === 'keep' ? {} : { expires_at: endIn(ends ?? 'never', now) }),
  };
}

function isTicked(form: Fields, name: string): boolean {
  const value = form.get(name);
  if (value === undefined || value === 'yes') return value === 'yes';
  throw invalidField(name, `${name} must be yes, or absent`);
}

function approvalIn(given: string): (typeof APPROVALS)[number]['value'] {
  const found = APPROVALS.find(({ value }) => value === given);
  if (found) return found.value;
  throw invalidField('approval', `approval must be ${APPROVALS.map(({ value }) => value).join(', ')}`);
}

function endIn(ends: string, now: number): string | null {
  if (ends === 'never') return null;
  const days = DAYS.find((one) => String(one) === ends);
  if (days !== undefined) return isoTime(now + days * DAY_MS);
  throw invalidField('ends', `ends must be never, keep, or one of the days ${DAYS.join(', ')}`);
}

/** The limits in words, one a line; none where it has none. */
export function limitsInWords({ limits, expiresAt }: Limited): string[] {
  const approval = APPROVALS.find(({ value }) => value === limits.approval)?.label.toLowerCase();
  return [
    limits.readOnly ? 'It may only read' : '',
    limits.approval === 'none' ? '' : `A person approves first: ${approval}`,
    limits.recipients === 'any' ? '' : 'It writes to your team’s own domains alone',
    limits.emailsPerDay === null ? '' : `At most ${limits.emailsPerDay} emails a day`,
    expiresAt === null ? '' : `It ends ${timeInWords(expiresAt)}`,
  ].filter((line) => line !== '');
}
