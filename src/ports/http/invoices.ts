import type { InvoiceObject } from '../../contract/index.ts';
import { escapeHtml } from '../../protocol/safe-html/index.ts';
import { getInvoice, invoiceCsv } from '../../features/billing/invoices/index.ts';
import { bdi, readingStyle, renderDocument, sourceOf } from './layout/index.ts';
import type { Page } from './page.ts';
import { privatePageHeaders } from './private-page-headers.ts';

export const sendInvoiceCsv: Page<'getInvoiceCsv'> = async (ctx, { path }, { reply }) => {
  const invoice = await getInvoice(ctx, path.invoice_id);
  reply.headers({
    'content-type': 'text/csv; charset=utf-8',
    'content-disposition': `attachment; filename="${invoice.number}.csv"`,
    'cache-control': 'private, no-store',
  });
  return invoiceCsv(invoice);
};

export const sendInvoicePage: Page<'getInvoicePage'> = async (ctx, { path }, { reply }) => {
  const invoice = await getInvoice(ctx, path.invoice_id);
  reply.type('text/html; charset=utf-8').headers(privatePageHeaders(POLICY));
  return renderDocument(`Invoice ${invoice.number}`, contentOf(invoice), STYLE);
};

const STYLE = `${readingStyle}
table{width:100%;border-collapse:collapse;margin:1.25rem 0 0}
th,td{padding:.5rem .75rem .5rem 0;border-bottom:1px solid var(--line);text-align:left;vertical-align:top}
.number{padding-right:0;text-align:right;white-space:nowrap}
tfoot th,tfoot td{border-bottom:0;font-weight:700}
@media print{:root{color-scheme:light;--ground:#fff;--card:#fff;--ink:#000;--quiet:#444;--line:#999}body{max-width:none;padding:0}main{border:0;padding:0}thead{display:table-header-group}tr{break-inside:avoid}}
`;
const POLICY = `default-src 'none'; style-src ${sourceOf(STYLE)}; base-uri 'none'; form-action 'none'`;

function contentOf(invoice: InvoiceObject): string {
  const { currency, time_zone: zone } = invoice;
  const day = (at: string, before = 0): string => dateIn(zone, Date.parse(at) - before);
  const facts: [string, string][] = [
    ['Number', invoice.number],
    ['Date', day(invoice.issued_at)],
    ['Period', `${day(invoice.period_start)} to ${day(invoice.period_end, 1)} (${zone})`],
    ...(invoice.issuer === null ? [] : ([['From', invoice.issuer]] satisfies [string, string][])),
    ['To', invoice.billed_to],
  ];
  const lines = invoice.lines.map(
    (line) =>
      `<tr><td>${bdi(line.description)}</td><td class="number">${line.quantity}</td><td class="number">${amount(line.price_cents, currency)}</td><td class="number">${amount(line.amount_cents, currency)}</td></tr>`,
  );
  return `<main><h1>Invoice ${escapeHtml(invoice.number)}</h1>
<dl>${facts.map(([name, value]) => `<div><dt>${name}</dt><dd>${bdi(value)}</dd></div>`).join('')}</dl>
<table><thead><tr><th scope="col">Item</th><th scope="col" class="number">Quantity</th><th scope="col" class="number">Price</th><th scope="col" class="number">Amount</th></tr></thead>
<tbody>${lines.join('\n')}</tbody>
<tfoot><tr><th scope="row" colspan="3">Total</th><td class="number">${amount(invoice.total_cents, currency)}</td></tr></tfoot></table></main>
`;
}

/** Without a detour over fractions. */
const amount = (cents: number, currency: string): string =>
  `${Math.floor(cents / 100)}.${String(cents % 100).padStart(2, '0')} ${escapeHtml(currency)}`;

/** As 2026-11-30, which means the same everywhere. */
const dateIn = (timeZone: string, at: number): string =>
  new Intl.DateTimeFormat('en-CA', { timeZone, year: 'numeric', month: '2-digit', day: '2-digit' }).format(at);
