import { downloadAttachment } from '../../mail/attachments/index.ts';
import { privatePageHeaders, type Page, type PageCall } from './page.ts';
import { downloadReceived, type ReceivedDownload } from '../../mail/received-emails/index.ts';
import { Readable } from 'node:stream';
import { exportContacts as beginExport } from '../../features/audience/index.ts';
import { exportPerson as beginPersonExport } from '../../features/customers/index.ts';
import { exportFailedRows } from '../../features/audience/start.ts';
import type { InvoiceObject } from '../../contract/index.ts';
import { escapeHtml } from '../../protocol/safe-html/index.ts';
import { getInvoice, invoiceCsv } from '../../features/billing/index.ts';
import { bdi, readingStyle, renderDocument, hashStyle } from './layout/index.ts';

const ASCII_CHARS_MAX = 120;

/**
 * Content-Disposition for an untrusted file name (RFC 6266). A name beyond plain ASCII is given twice, as a similar
 * ASCII name and complete by RFC 8187. Both leave out what could lead out of the reader's folder, hide the file or
 * display the name in another order.
 */
export function attachmentDisposition(filename: string): string {
  const name = harmlessName(filename);
  // The ASCII form may bring back what was removed: a fullwidth slash becomes a slash.
  const ascii = harmlessName(asciiLikeness(name));
  const extended = ascii === name ? '' : `; filename*=UTF-8''${percentEncode(name)}`;
  return `attachment; filename="${ascii}"${extended}`;
}

function harmlessName(filename: string): string {
  const name = filename
    .toWellFormed()
    .replaceAll(UNSAFE, '_')
    // "..", a hidden file, and endings that Windows cuts off.
    .replace(/^[. ]+/, '_')
    .replace(/[. ]+$/, '_');
  return name === '' ? 'attachment' : name.replace(DEVICE, '_$&');
}

/** Control and format characters, path separators, and characters that are special on Windows. ZWJ makes emoji. */
const UNSAFE = /[\p{Cc}\p{Co}\p{Cn}\u2028\u2029\uFFFD"*/:<>?\\|]|(?![\u200c\u200d])\p{Cf}/gu;
const DEVICE = /^(?:con|prn|aux|nul|com\d|lpt\d)(?=\.|$)/i;

/** RFC 6266 appendix D: without percent signs, which some clients would decode. */
function asciiLikeness(name: string): string {
  const ascii = name
    .normalize('NFKD')
    .replaceAll(/\p{M}+/gu, '')
    .replaceAll(/[^\x20-\x7e]|["\\/%]/gu, '_');
  if (ascii.length <= ASCII_CHARS_MAX) return ascii === '' ? 'attachment' : ascii;
  const dot = ascii.lastIndexOf('.');
  const extension = dot > 0 && ascii.length - dot <= 12 ? ascii.slice(dot) : '';
  return ascii.slice(0, ASCII_CHARS_MAX - extension.length) + extension;
}

/** RFC 8187 §3.2.1: only attr-char stands for itself; encodeURIComponent leaves a few more. */
const percentEncode = (name: string): string =>
  encodeURIComponent(name).replaceAll(/['()*]/g, (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`);

const TYPES = { csv: 'text/csv; charset=utf-8', ndjson: 'application/x-ndjson; charset=utf-8' } as const;

/** Responds with a file that is produced while it is sent, as fast as the caller reads it. */
export const exportContacts: Page<'exportContacts'> = async (ctx, { query }, { reply }) => {
  const format = query?.format ?? 'csv';
  const made = await beginExport(ctx, { format, segmentId: query?.segment_id });
  return streamExport(reply, made, { format, name: `contacts.${format}` });
};

/** Responds with the rows that an import could not take. */
export const getContactImportFailedRows: Page<'getContactImportFailedRows'> = async (ctx, { path }, { reply }) =>
  streamExport(reply, await exportFailedRows(ctx, path.import_id), { format: 'csv', name: 'failed-rows.csv' });

function streamExport(
  reply: PageCall['reply'],
  { lines, end }: { lines: AsyncIterable<string>; end(): void },
  { format, name }: { format: keyof typeof TYPES; name: string },
): Readable {
  // Runs however the response ends: read completely, or aborted by the client.
  reply.raw.once('close', end);
  if (reply.raw.destroyed) end();
  reply.headers({
    'content-type': TYPES[format],
    'content-disposition': `attachment; filename="${name}"`,
    'cache-control': 'private, no-store',
  });
  // RFC 9110 §9.3.2: a response to HEAD has no content.
  return Readable.from(reply.request.method === 'HEAD' ? [] : lines);
}

/** Responds with a document that is produced while it is sent, as fast as the caller reads it. */
export const exportPerson: Page<'exportPerson'> = async (ctx, { body }, { reply }) => {
  const { pieces, end } = await beginPersonExport(ctx, body);
  // Runs however the response ends: read completely, or aborted by the client.
  reply.raw.once('close', end);
  if (reply.raw.destroyed) end();
  reply.headers({
    'content-type': 'application/json; charset=utf-8',
    'content-disposition': 'attachment; filename="person.json"',
    'cache-control': 'private, no-store',
  });
  return Readable.from(pieces);
};

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
  return renderDocument(`Invoice ${invoice.number}`, formatInvoice(invoice), STYLE);
};

const STYLE = `${readingStyle}
table{width:100%;border-collapse:collapse;margin:1.25rem 0 0}
th,td{padding:.5rem .75rem .5rem 0;border-bottom:1px solid var(--line);text-align:left;vertical-align:top}
.number{padding-right:0;text-align:right;white-space:nowrap}
tfoot th,tfoot td{border-bottom:0;font-weight:700}
@media print{:root{color-scheme:light;--ground:#fff;--card:#fff;--ink:#000;--quiet:#444;--line:#999}body{max-width:none;padding:0}main{border:0;padding:0}thead{display:table-header-group}tr{break-inside:avoid}}
`;
const POLICY = `default-src 'none'; style-src ${hashStyle(STYLE)}; base-uri 'none'; form-action 'none'`;

function formatInvoice(invoice: InvoiceObject): string {
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

/** Computed in integers, without rounding of fractions. */
const amount = (cents: number, currency: string): string =>
  `${Math.floor(cents / 100)}.${String(cents % 100).padStart(2, '0')} ${escapeHtml(currency)}`;

/** Formats a date like 2026-11-30, which means the same everywhere. */
const dateIn = (timeZone: string, at: number): string =>
  new Intl.DateTimeFormat('en-CA', { timeZone, year: 'numeric', month: '2-digit', day: '2-digit' }).format(at);

export const sendReceivedAttachment: Page<'downloadReceivedAttachment'> = async ({ store }, { path, query }, page) => {
  const link = { emailId: path.received_email_id, file: path.received_attachment_id, expires: query.expires };
  return send(page, await downloadReceived(store, link, query.token));
};

export const sendReceivedRaw: Page<'downloadReceivedRaw'> = async ({ store }, { path, query }, page) => {
  const link = { emailId: path.received_email_id, file: 'raw', expires: query.expires };
  return send(page, await downloadReceived(store, link, query.token));
};

/** The content is untrusted: a browser must save it, and never run it under our origin. */
function send({ reply }: PageCall, file: ReceivedDownload) {
  reply.headers({
    'content-type': file.contentType,
    'content-length': file.size,
    'content-disposition': attachmentDisposition(file.filename),
    'content-security-policy': "sandbox; default-src 'none'",
    'cache-control': 'private, no-store',
    'referrer-policy': 'no-referrer',
  });
  return file.content;
}

export const sendAttachmentFile: Page<'downloadAttachment'> = async ({ store }, { path, query }, { reply }) => {
  const target = { emailId: path.email_id, attachmentId: path.attachment_id, expires: query.expires };
  const file = await downloadAttachment(store, target, query.token);
  // The content is untrusted: a browser must save it, and never run it under our origin.
  reply.headers({
    'content-type': file.contentType,
    'content-length': file.size,
    'content-disposition': attachmentDisposition(file.filename),
    'content-security-policy': "sandbox; default-src 'none'",
    'cache-control': 'private, no-store',
    'referrer-policy': 'no-referrer',
  });
  return file.content;
};
