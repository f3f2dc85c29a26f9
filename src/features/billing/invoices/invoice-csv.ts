import type { InvoiceObject } from '../../../contract/index.ts';
import { defused, quoted } from '../../../protocol/csv/index.ts';

const TITLES = ['number', 'issued_at', 'period_start', 'period_end', 'billed_to', 'kind', 'plan_code', 'description'];
const AMOUNTS = ['quantity', 'unit', 'price_cents', 'amount_cents', 'currency'];

/** A row for each line; what a spreadsheet would take for a formula has an apostrophe before it. */
export function invoiceCsv(invoice: InvoiceObject): string {
  const { number, issued_at: issuedAt, period_start: from, period_end: to, billed_to: team, currency } = invoice;
  const rows = invoice.lines.map((line) => [
    ...[number, issuedAt, from, to, team, line.kind, line.plan_code, line.description],
    ...[line.quantity, line.unit, line.price_cents, line.amount_cents, currency],
  ]);
  return [[...TITLES, ...AMOUNTS], ...rows]
    .map((cells) => `${cells.map((cell) => quoted(defused(String(cell)))).join(',')}\r\n`)
    .join('');
}
