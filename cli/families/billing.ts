import type { AnswerOf } from '../client/index.ts';
import { groupedIn } from './field-value.ts';
import {
  declareAction,
  declareDetail,
  declareList,
  declareParts,
  declareReport,
  wide,
  withRemaining,
  type Family,
  type Field,
  type ItemOf,
} from './family.ts';

type Plan = AnswerOf<'listBillingPlans'>['data'][number];
type Invoice = ItemOf<'listInvoices'> | AnswerOf<'getInvoice'>;
type InvoiceLine = AnswerOf<'getInvoice'>['lines'][number];

/** Formats a price for people. */
const price = (cents: number): string => `${Math.floor(cents / 100)}.${String(cents % 100).padStart(2, '0')}`;
const priced = (cents: number, currency: string): string => `${price(cents)} ${currency}`;

const formatOverage = ({ overage_per_1000_cents: cents, overage_emails: most }: Plan): string =>
  cents === null ? 'refused' : `${price(cents)} for 1,000, at most ${most}`;
const overageInWords = (plan: Plan): string => groupedIn(formatOverage(plan));

const planColumns: readonly Field<Plan>[] = [
  { name: 'code', label: 'Code', kind: 'whole' },
  { name: 'name', label: 'Name', kind: 'name' },
  { name: 'monthly_price_cents', label: 'A month', kind: 'number', words: (plan) => price(plan.monthly_price_cents) },
  { name: 'included_emails', label: 'Emails', kind: 'number' },
  { name: 'overage_per_1000_cents', label: 'Beyond', kind: 'whole', words: overageInWords },
  { name: 'overage_emails', label: 'At most beyond', kind: 'number', shown: 'wide' },
];

export const billing = withRemaining({
  command: 'billing',
  summary: 'show and change your plan, and list your invoices',
  noun: 'a plan',
  get: declareDetail('getBilling', {
    fields: [
      { name: 'plan', label: 'Plan', value: ({ plan }) => `${plan.name} (${plan.code})` },
      {
        name: 'plan.monthly_price_cents',
        label: 'A month',
        value: ({ plan, currency }) => priced(plan.monthly_price_cents, currency),
      },
      { name: 'plan.included_emails', label: 'Emails', kind: 'number' },
      {
        name: 'plan.overage_per_1000_cents',
        label: 'Beyond them',
        value: ({ plan }) => formatOverage(plan),
        words: ({ plan }) => overageInWords(plan),
      },
      { name: 'time_zone', label: 'Time zone' },
      { name: 'self_service', label: 'Owners change it', value: (one) => (one.self_service ? 'yes' : 'no') },
      { name: 'payment_provider', label: 'Paid by' },
      {
        name: 'subscription',
        label: 'Subscription',
        value: ({ subscription: one }) => one && `${one.status}, until ${one.current_period_end.slice(0, 10)}`,
      },
      { name: 'effective_plan_code', label: 'In force', shown: 'asked' },
      { name: 'currency', label: 'Currency', shown: 'asked' },
    ],
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

export const billingPlans = {
  command: 'billing',
  summary: 'list the plans of this installation and their prices',
  noun: 'a plan on offer',
  screens: { report: 'plans' },
  report: declareReport('listBillingPlans', { rows: ({ data }): readonly Plan[] => data, columns: planColumns }),
} satisfies Family;

const id: Field<Invoice> = { name: 'id', label: 'Id', kind: 'id' };
const number: Field<Invoice> = { name: 'number', label: 'Number', kind: 'name' };
const month: Field<Invoice> = { name: 'month', label: 'Month', kind: 'whole' };
const total: Field<Invoice> = {
  name: 'total_cents',
  label: 'Total',
  kind: 'number',
  words: (invoice) => priced(invoice.total_cents, invoice.currency),
};
const currency: Field<Invoice> = { name: 'currency', label: 'Currency', kind: 'whole' };
const issued: Field<Invoice> = { name: 'issued_at', label: 'Issued', kind: 'time' };
const more: readonly Field<Invoice>[] = [
  { name: 'billed_to', label: 'To' },
  { name: 'issuer', label: 'From' },
  { name: 'period_start', label: 'Since', kind: 'time' },
  { name: 'period_end', label: 'Until', kind: 'time' },
  { name: 'time_zone', label: 'Time zone' },
];

export const invoices = {
  command: 'billing',
  summary: 'list and show the invoices of your team',
  noun: 'an invoice',
  screens: { list: 'invoices' },
  list: declareList('listInvoices', {
    columns: [id, number, month, total, issued, ...wide(currency, ...more)],
    empty: 'There are no invoices; a month without a charge has none.',
  }),
  get: declareDetail('getInvoice', {
    fields: [
      id,
      number,
      month,
      total,
      currency,
      issued,
      ...more,
      { name: 'lines', label: 'All lines', shown: 'asked' },
    ],
    parts: declareParts({
      label: 'Lines',
      of: (invoice: AnswerOf<'getInvoice'>): readonly InvoiceLine[] => invoice.lines,
      columns: [
        { name: 'description', label: 'Line', kind: 'name' },
        { name: 'quantity', label: 'Quantity', kind: 'number' },
        { name: 'price_cents', label: 'Price', kind: 'number', words: (line) => price(line.price_cents) },
        { name: 'amount_cents', label: 'Amount', kind: 'number', words: (line) => price(line.amount_cents) },
        { name: 'unit', label: 'Unit', shown: 'wide' },
        { name: 'plan_code', label: 'Plan', shown: 'wide' },
        { name: 'kind', label: 'Kind', shown: 'asked' },
        { name: 'plan_name', label: 'Plan name', shown: 'asked' },
      ],
      copy: (line) => line.description,
    }),
  }),
} satisfies Family;
