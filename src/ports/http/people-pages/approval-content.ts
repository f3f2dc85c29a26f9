import type { AnswerOf, ApprovalContent, ApprovalMessage } from '../../../contract/index.ts';
import { escapeHtml } from '../../../protocol/safe-html/index.ts';
import { bdi } from '../layout/index.ts';
import { renderAlert } from './elements.ts';

const TITLES: Record<ApprovalMessage['kind'], string> = {
  email: 'The email',
  broadcast: 'The broadcast',
  draft: 'The draft',
  reply: 'The answer',
  forward: 'The forward',
  template: 'The template',
  automation_step: 'The email of a step',
};

/** Renders in full what a call names and does not contain: a person decides on texts and recipients, not on ids. */
export function renderContent({ content }: AnswerOf<'getApproval'>): string {
  if (content === null) return '';
  return [
    content.is_changed ? renderAlert(CHANGED) : '',
    renderAudience(content),
    renderSender(content),
    ...content.messages.map(renderMessage),
    renderChanges(content),
  ].join('\n');
}

const CHANGED =
  'Content that this call names has changed since the app asked, or it would go to more contacts. It cannot be approved: reject it, and let the app ask again.';

function renderMessage(message: ApprovalMessage): string {
  const { kind, name, template, fallbacks, attachments } = message;
  const files = attachments.map(
    ({ filename, size }) => `${filename ?? 'a file'}${size === null ? '' : ` (${size} bytes)`}`,
  );
  const rows = renderRows({
    Name: name ?? '',
    From: message.from ?? '',
    To: message.to.join(', '),
    Cc: message.cc.join(', '),
    Bcc: message.bcc.join(', '),
    'Reply to': message.reply_to.join(', '),
    Recipients: message.recipients > 1 ? `${message.recipients}` : '',
    Subject: message.subjects.join(' / '),
    'Shown after the subject': message.preview_text ?? '',
    Template: kind === 'template' ? '' : (template ?? ''),
    'Without a value': Object.entries(fallbacks)
      .map(([key, value]) => `${key}: ${value}`)
      .join(', '),
    Files: files.join(', '),
  });
  return `<h2>${TITLES[kind]}</h2>${rows}${renderBodies(message)}`;
}

/** Renders the recipients of a broadcast as of now. Until the decision the app may not add contacts. */
function renderAudience({ audience }: ApprovalContent): string {
  if (audience === null) return '';
  const { contacts, subscribed, subscribed_before: before, segment_name: segment, topic_name: topic } = audience;
  const earlier = before === null || before === subscribed ? '' : `; ${before} when the app asked`;
  const rows = {
    Segment: segment,
    Topic: topic ?? '',
    Contacts: `${contacts}, of whom ${subscribed} want mail${earlier}`,
  };
  return `<h2>Recipients</h2>${renderRows(rows)}`;
}

function renderSender({ sender }: ApprovalContent): string {
  if (sender === null) return '';
  const lines = Object.values(sender.postal_address ?? {}).filter((line) => typeof line === 'string');
  return `<h2>Sender named below it</h2>${renderRows({ Name: sender.name, Address: lines.join(', ') })}`;
}

function renderChanges({ changes }: ApprovalContent): string {
  if (changes.length === 0) return '';
  const inWords = (value: unknown): string =>
    typeof value === 'string' ? value : JSON.stringify(value ?? null, null, 2);
  const rows = changes.map(
    ({ field, before, after }) =>
      `<h3>${bdi(field)}</h3><p>Now:</p><pre>${escapeHtml(visible(inWords(before)))}</pre><p>After it:</p><pre>${escapeHtml(visible(inWords(after)))}</pre>`,
  );
  return `<h2>What changes</h2>${rows.join('')}`;
}

const renderRows = (values: Readonly<Record<string, string>>): string => {
  const rows = Object.entries(values).filter(([, value]) => value !== '');
  return `<dl>${rows.map(([label, value]) => `<div><dt>${label}</dt><dd>${bdi(value)}</dd></div>`).join('')}</dl>`;
};

/** Renders HTML and text, because a mail program shows one of them, and we cannot know which. */
const renderBodies = ({ text, html }: Pick<ApprovalMessage, 'text' | 'html'>): string =>
  [text, html]
    .filter((body) => body !== null && body !== '')
    .map((body) => `<pre>${escapeHtml(visible(body ?? ''))}</pre>`)
    .join('');

/** Marks that turn the direction of a text around would show another text than the one that is sent. */
export const visible = (text: string): string =>
  text.replaceAll(/[\u200e\u200f\u202a-\u202e\u2066-\u2069]/g, (mark) => `\\u${mark.codePointAt(0)?.toString(16)}`);
