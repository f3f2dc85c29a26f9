import { expect, it } from 'vitest';
import { previewMail } from './freeze-broadcast.ts';

const LINKS = { UNSUBSCRIBE_URL: 'https://example.com/u', PREFERENCES_URL: 'https://example.com/p' };
const TEAM = {
  name: 'Acme',
  sender_name: null,
  postal_address: null,
  default_language: 'en',
  language_property: null,
} as const;

/** Returns the mail of a contact without values. */
function preview(html: string, previewText: string | null) {
  const mail = previewMail.work({
    subject: 'News',
    bodies: undefined,
    source: { html, text: null, template: undefined },
    template: undefined,
    around: { previewText, team: TEAM, properties: [], fallbacks: {}, utm: null },
    contact: { email: 'ada@example.org', first_name: null, last_name: null, properties: '{}' },
    links: LINKS,
  });
  if (mail === 'too large') throw new Error('the mail is too large');
  return { html: mail.html ?? '', text: mail.text ?? '' };
}

it.each(['<body>', '</body>', '<!--', '<p title="', '<script>', '<b'])(
  'the preview text and the footer of a broadcast are not put into a default of %s, which is text in both bodies',
  (markup) => {
    const { html, text } = preview(`<p>Hi {{{FIRST_NAME|${markup}}}} there</p>`, `For {{{LAST_NAME|${markup}}}}`);
    const shown = markup.replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');
    expect(html).toMatch(/^<div style="display:none/);
    expect(html).toContain(`>For ${shown}&#847;`);
    expect(html).toContain(`<p>Hi ${shown} there</p><div`);
    expect(html).toContain('<a href="https://example.com/u"');
    expect(text).toContain(`Hi ${markup} there`);
    expect(text).toContain('https://example.com/u');
  },
);
