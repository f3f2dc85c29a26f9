import {
  declareAction,
  declareDetail,
  declareFamily,
  declareList,
  declareParts,
  declareReport,
  withRemaining,
} from './family.ts';
import type { AnswerOf, FieldsOf } from './family.ts';
import { groupedIn } from './field-value.ts';

type Plan = AnswerOf<'listBillingPlans'>['data'][number];

/** Formats a price for people. */
const price = (cents: number): string => `${Math.floor(cents / 100)}.${String(cents % 100).padStart(2, '0')}`;
const priced = (cents: number, currency: string): string => `${price(cents)} ${currency}`;

const formatOverage = ({ overage_per_1000_cents: cents, overage_emails: most }: Plan): string =>
  cents === null ? 'refused' : `${price(cents)} for 1,000, at most ${most}`;
const overageInWords = (plan: Plan): string => groupedIn(formatOverage(plan));

export const billing = withRemaining({
  summary: 'show and change your plan, and list your invoices',
  noun: 'a plan',
  get: declareDetail('getBilling', {
    fields: {
      plan: { value: ({ plan }) => `${plan.name} (${plan.code})` },
      'plan.monthly_price_cents': {
        label: 'A month',
        value: ({ plan, currency }) => priced(plan.monthly_price_cents, currency),
      },
      'plan.included_emails': { label: 'Emails', kind: 'number' },
      'plan.overage_per_1000_cents': {
        label: 'Beyond them',
        value: ({ plan }) => formatOverage(plan),
        words: ({ plan }) => overageInWords(plan),
      },
      self_service: { label: 'Owners change it', either: ['yes', 'no'] },
      payment_provider: 'Paid by',
      subscription: {
        value: ({ subscription: one }) => one && `${one.status}, until ${one.current_period_end.slice(0, 10)}`,
      },
      effective_plan_code: 'In force',
      currency: { kind: 'text' },
    },
    columns: [
      'plan',
      'plan.monthly_price_cents',
      'plan.included_emails',
      'plan.overage_per_1000_cents',
      'time_zone',
      'self_service',
      'payment_provider',
      'subscription',
    ],
    asked: ['effective_plan_code', 'currency'],
  }),
  actions: [
    declareAction('changeBillingPlan', {
      describe: ({ plan, currency }) =>
        `The plan is now ${plan.name}, for ${priced(plan.monthly_price_cents, currency)} a month.`,
    }),
    declareAction('createBillingCheckout', { describe: ({ url }) => `Pay at ${url}`, copy: ({ url }) => url }),
    declareAction('createBillingPortal', {
      describe: ({ url }) => `Manage the subscription at ${url}`,
      copy: ({ url }) => url,
    }),
  ],
  elsewhere: { listBillingPlans: true, listInvoices: true, getInvoice: true },
});

export const billingPlans = declareFamily({
  summary: 'list the plans of this installation and their prices',
  noun: 'a plan on offer',
  screens: { report: 'plans' },
  report: declareReport<'listBillingPlans', Plan>('listBillingPlans', {
    rows: ({ data }) => data,
    fields: {
      monthly_price_cents: { label: 'A month', kind: 'number', words: (plan) => price(plan.monthly_price_cents) },
      included_emails: { label: 'Emails', kind: 'number' },
      overage_per_1000_cents: { label: 'Beyond', kind: 'whole', words: overageInWords },
      overage_emails: { label: 'At most beyond', kind: 'number' },
    },
    columns: ['code', 'name', 'monthly_price_cents', 'included_emails', 'overage_per_1000_cents'],
    wide: ['overage_emails'],
  }),
});

const fields: FieldsOf<'listInvoices' | 'getInvoice'> = {
  number: { kind: 'name' },
  total_cents: { label: 'Total', words: ({ total_cents: cents, currency }) => priced(cents, currency) },
  billed_to: 'To',
  issuer: 'From',
  period_start: 'Since',
  period_end: 'Until',
};

export const invoices = declareFamily({
  screens: { list: 'invoices' },
  list: declareList('listInvoices', {
    fields,
    columns: ['id', 'number', 'month', 'total_cents', 'issued_at'],
    wide: ['currency', 'billed_to', 'issuer', 'period_start', 'period_end', 'time_zone'],
    empty: 'There are no invoices; a month without a charge has none.',
  }),
  get: declareDetail('getInvoice', {
    fields: { ...fields, lines: 'All lines' },
    columns: [
      'id',
      'number',
      'month',
      'total_cents',
      'currency',
      'issued_at',
      'billed_to',
      'issuer',
      'period_start',
      'period_end',
      'time_zone',
    ],
    asked: ['lines'],
    parts: declareParts({
      label: 'Lines',
      of: (invoice: AnswerOf<'getInvoice'>) => invoice.lines,
      fields: {
        description: { label: 'Line', kind: 'name' },
        quantity: { kind: 'number' },
        price_cents: { label: 'Price', kind: 'number', words: (line) => price(line.price_cents) },
        amount_cents: { label: 'Amount', kind: 'number', words: (line) => price(line.amount_cents) },
        plan_code: 'Plan',
      },
      columns: ['description', 'quantity', 'price_cents', 'amount_cents'],
      wide: ['unit', 'plan_code'],
      asked: ['kind', 'plan_name'],
      copy: (line) => line.description,
    }),
  }),
});
