import type { BillingPlan, InvoiceListItem, InvoiceObject } from '../../../contract/index.ts';
import { isoTime } from '../../../platform/clock/index.ts';
import type { Plan } from '../../../platform/config/index.ts';
import type { InvoiceRow } from './billing.store.ts';

/** What an invoice says beside its id, its number and its day, as it is kept. */
export type InvoiceContent = Omit<InvoiceObject, 'object' | 'id' | 'number' | 'issued_at'>;

export function presentInvoice(row: InvoiceRow): InvoiceObject {
  const content = JSON.parse(row.content) as InvoiceContent;
  const { id, number } = row;
  return { object: 'invoice', id, number, issued_at: isoTime(Number(row.issued_at)), ...content };
}

/** Without its lines. */
export function presentListed(row: InvoiceRow): InvoiceListItem {
  const { object: _, lines: __, ...item } = presentInvoice(row);
  return item;
}

export const presentPlan = (code: string, plan: Plan): BillingPlan => ({
  code,
  name: plan.name,
  monthly_price_cents: plan.monthly_price_cents,
  included_emails: plan.included_emails,
  overage_per_1000_cents: plan.overage_per_1000_cents,
  overage_emails: plan.overage_emails,
});
