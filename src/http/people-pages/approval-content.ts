import type { AnswerOf } from '../../contract/index.ts';
import { Refusal } from '../../platform/refusal/index.ts';
import { escapeHtml } from '../../protocol/safe-html/index.ts';
import { bdi } from '../layout/index.ts';
import { attempt } from './elements.ts';
import type { PageCtx } from './page.ts';

type One = AnswerOf<'getApproval'>;

export const CALL_CHARS_MAX = 20_000;
/** A batch may name one for each of its emails. */
const TEMPLATES_MAX = 5;

/** What a call names and does not hold itself: a person decides on what it says, and to whom, not on ids. */
export const contentIn = async (ctx: PageCtx, one: One): Promise<string> =>
  [
    ...(await broadcastIn(ctx, one)),
    await draftIn(ctx, one),
    ...(await Promise.all(templatesOf(one).map((named) => templateIn(ctx, named)))),
  ].join('\n');

async function broadcastIn(ctx: PageCtx, { operation_id: operation, call }: One): Promise<string[]> {
  if (operation === 'createBroadcast') return [await segmentIn(ctx, segmentOf(call.body))];
  const id = call.path['broadcast_id'];
  if (!operation.endsWith('Broadcast') || typeof id !== 'string') return [];
  const seen = await attempt(ctx.call('getBroadcast', { path: { broadcast_id: id } }));
  if (seen instanceof Refusal) return ['<p>The broadcast is not there any more.</p>'];
  const rows = rowsOf({ Name: seen.name ?? '', From: seen.from ?? '', Subject: seen.subject ?? '' });
  return [`<h2>The broadcast</h2>${rows}${bodiesOf(seen)}`, await segmentIn(ctx, segmentOf(seen))];
}

const segmentOf = (value: unknown): string | undefined => {
  const { segment_id: id, audience_id: former } = (value ?? {}) as { segment_id?: unknown; audience_id?: unknown };
  return [id, former].find((one): one is string => typeof one === 'string');
};

/** Whom it reaches at this moment; what an app may not do meanwhile is put more people in. */
async function segmentIn({ call }: PageCtx, id: string | undefined): Promise<string> {
  if (id === undefined) return '';
  const path = { segment: id };
  const seen = await attempt(Promise.all([call('getSegment', { path }), call('getSegmentMetrics', { path })]));
  if (seen instanceof Refusal) return '<p>The segment is not there any more.</p>';
  const [{ name }, { contacts, subscribed }] = seen;
  return `<h2>To whom</h2>${rowsOf({ Segment: name, Contacts: `${contacts}, of whom ${subscribed} want mail` })}`;
}

async function draftIn(ctx: PageCtx, { operation_id: operation, call }: One): Promise<string> {
  if (operation !== 'sendInboxDraft') return '';
  const path = { inbox: String(call.path['inbox']), draft_id: String(call.path['draft_id']) };
  const seen = await attempt(ctx.call('getInboxDraft', { path }));
  if (seen instanceof Refusal) return '<p>The draft is not there any more.</p>';
  const rows = rowsOf({
    ...{ To: (seen.to ?? []).join(', '), Cc: seen.cc.join(', '), Bcc: seen.bcc.join(', ') },
    Subject: seen.subject ?? '',
    Files: seen.attachments.map(({ filename }) => filename).join(', '),
  });
  return `<h2>The draft</h2>${rows}${bodiesOf(seen)}`;
}

/** Those of `publishTemplate`, and of emails that are made of one. */
function templatesOf({ operation_id: operation, call }: One): string[] {
  if (operation === 'publishTemplate') return [String(call.path['template'])];
  const emails: readonly unknown[] = Array.isArray(call.body) ? call.body : [call.body];
  const named = emails.flatMap((email) => {
    const id = ((email ?? {}) as { template?: { id?: unknown } | null }).template?.id;
    return typeof id === 'string' ? [id] : [];
  });
  return [...new Set(named)].slice(0, TEMPLATES_MAX);
}

async function templateIn({ call }: PageCtx, template: string): Promise<string> {
  const seen = await attempt(call('getTemplate', { path: { template } }));
  if (seen instanceof Refusal) return '<p>The template is not there any more.</p>';
  const rows = rowsOf({ Name: seen.name, From: seen.from ?? '', Subject: seen.subject ?? '' });
  return `<h2>The template</h2>${rows}${bodiesOf(seen)}`;
}

const rowsOf = (values: Readonly<Record<string, string>>): string => {
  const rows = Object.entries(values).filter(([, value]) => value !== '');
  return `<dl>${rows.map(([label, value]) => `<div><dt>${label}</dt><dd>${bdi(value)}</dd></div>`).join('')}</dl>`;
};

/** Both are shown: a mail program shows one of them, and which one is not ours to say. */
const bodiesOf = ({ text, html }: { text: string | null; html: string | null }): string =>
  [text, html]
    .filter((body) => body !== null && body !== '')
    .map((body) => `<pre>${escapeHtml(visible((body ?? '').slice(0, CALL_CHARS_MAX)))}</pre>`)
    .join('');

/** Marks that turn the direction of a text around would show another text than the one that is sent. */
export const visible = (text: string): string =>
  text.replaceAll(/[\u200e\u200f\u202a-\u202e\u2066-\u2069]/g, (mark) => `\\u${mark.codePointAt(0)?.toString(16)}`);
