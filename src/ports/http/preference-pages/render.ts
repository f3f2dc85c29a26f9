import type { PostalAddress } from '../../../contract/index.ts';
import type { Preferences, TopicPreference } from '../../../features/audience/index.ts';
import { escapeHtml } from '../../../protocol/safe-html/index.ts';
import { bdi, formStyle, renderDocument, sourceOf } from '../layout/index.ts';
import { privatePageHeaders } from '../page.ts';

/** `form-action` allows only the page's own host, so a scanner that follows a form goes nowhere else. */
export const preferencePageHeaders = {
  ...privatePageHeaders(`default-src 'none'; style-src ${sourceOf(formStyle)}; base-uri 'none'; form-action 'self'`),
  'content-type': 'text/html; charset=utf-8',
};

/** `main` and `footer` are HTML already. */
const renderPage = (title: string, main: string, footer = ''): string =>
  renderDocument(
    title,
    `<main><h1>${bdi(title)}</h1>
${main}</main>${footer === '' ? '' : `\n<footer>${footer}</footer>`}`,
    formStyle,
  );

/** The change that was just made, shown first; undefined for a GET. */
export type Done = 'unsubscribed' | 'subscribed' | 'saved' | undefined;

interface Shown extends Preferences {
  /** The URL that the page's forms post to. */
  action: string;
  /** The URL of the preference page. */
  choices: string;
  done: Done;
}

/** The page of an unsubscribe link: to leave the topic of its mail, or everything. */
export function renderUnsubscribe(shown: Shown): string {
  const { contact, topic, done } = shown;
  if (!contact) return renderErased(shown, 'unsubscribe');
  const more = topic ? 'Choose what you get, or leave everything' : 'Choose what you get';
  if (!shown.isUnsubscribed && topic?.subscription !== 'opt_out') {
    const what = topic ? topic.name : `all mail from ${senderOf(shown)}`;
    return page(shown, `Unsubscribe from ${what}`, [
      status(done === 'subscribed' ? 'Done. You are subscribed again.' : ''),
      `<p>${address(shown)} gets ${subjectOf(shown)}.</p>`,
      form(shown, 'unsubscribe', button('Unsubscribe')),
      toChoices(shown, more),
    ]);
  }
  // A contact who left everything subscribes again on the page that lists everything.
  const isOneStepBack = shown.mayJoin && !(topic && shown.isUnsubscribed);
  return page(shown, 'You are unsubscribed', [
    status(done === 'unsubscribed' ? 'Done.' : ''),
    `<p>${address(shown)} will not get ${shown.isUnsubscribed ? `mail from ${bdi(senderOf(shown))}` : subjectOf(shown)} any more.</p>`,
    isOneStepBack ? form(shown, 'subscribe', button('Subscribe again', 'second')) : '',
    toChoices(shown, more),
  ]);
}

const SAVED = {
  unsubscribed: 'Done. You are unsubscribed from everything.',
  subscribed: 'Done. You are subscribed again.',
  saved: 'Your choices are saved.',
};

export function renderPreferences(shown: Shown): string {
  if (!shown.contact) return renderErased(shown, 'unsubscribe_all');
  const { isUnsubscribed, topics, done } = shown;
  const back = shown.mayJoin ? form(shown, 'subscribe_all', button('Subscribe again', 'second')) : '';
  return page(shown, `Your mail from ${senderOf(shown)}`, [
    status(done === undefined ? '' : SAVED[done]),
    `<p>For ${address(shown)}.</p>`,
    isUnsubscribed
      ? '<p>You have unsubscribed from everything. What is chosen here counts once you subscribe again.</p>'
      : '',
    shown.mayJoin && topics.length > 0 ? topicsForm(shown) : '',
    '<h2>Everything</h2>',
    isUnsubscribed ? back : form(shown, 'unsubscribe_all', button('Unsubscribe from everything', 'second')),
  ]);
}

export function renderConfirmation(shown: Shown): string {
  const { topic, contact, done } = shown;
  if (!contact) return renderErased(shown);
  const link = toChoices(shown, 'Choose what you get, or leave everything');
  if (!topic || !shown.mayJoin) {
    const says = 'What you were asked about is not offered any more. You need not do anything.';
    return page(shown, 'Nothing to confirm', [`<p>${says}</p>`, link]);
  }
  if (topic.subscription === 'opt_in') {
    return page(shown, `You are subscribed to ${topic.name}`, [
      status(done === undefined ? '' : 'Done.'),
      shown.isUnsubscribed
        ? `<p>You have unsubscribed from everything, so that nothing is sent before you subscribe again.</p>`
        : `<p>${address(shown)} gets ${subjectOf(shown)}.</p>`,
      link,
    ]);
  }
  return page(shown, `Subscribe to ${topic.name}`, [
    `<p>${bdi(senderOf(shown))} was asked to send ${bdi(topic.name)} to ${address(shown)}.</p>`,
    topic.description === null ? '' : `<p>${bdi(topic.description)}</p>`,
    form(shown, 'subscribe', button('Yes, subscribe me')),
    '<p class="links">If that was not you, do nothing: without a press of the button nothing is sent.</p>',
  ]);
}

export const renderNoLink = (): string =>
  renderPage(
    'This link does not work',
    '<p>It may have been cut short on its way. Open it again from the mail that it came with, or copy the whole address.</p>',
  );

export const renderSample = (): string =>
  renderPage(
    'This link is a sample',
    '<p>The mail that it stands in is a test or a preview, so that there is nobody to unsubscribe. In mail that is sent to readers, each has a link of its own here.</p>',
  );

export const renderMethodRefused = (): string =>
  renderPage('This cannot be done here', '<p>Open the link from the mail that it came with.</p>');

export const renderTooLarge = (): string =>
  renderPage('That was too much', '<p>Nothing was changed. Open the link again from the mail that it came with.</p>');

export const renderBusy = (): string =>
  renderPage('Try again soon', '<p>Nothing was changed. The link works; open it again in a few seconds.</p>');

/** `does` is the action of the button: the address may be added again. */
function renderErased(shown: Shown, does?: 'unsubscribe' | 'unsubscribe_all'): string {
  const { topic, isUnsubscribed, done } = shown;
  const isOut = isUnsubscribed || (does === 'unsubscribe' && topic?.subscription === 'opt_out');
  const what = does === 'unsubscribe' ? subjectOf(shown) : `mail from ${bdi(senderOf(shown))}`;
  return page(shown, 'You are not on the list', [
    status(done === 'unsubscribed' && isOut ? 'Done.' : ''),
    `<p>${bdi(senderOf(shown))} does not have the address that this mail went to any more, so that nothing is sent to it.</p>`,
    isOut ? `<p>If it is added again, it will not get ${what}.</p>` : '',
    does === undefined || isOut ? '' : form(shown, does, button('Unsubscribe, also if it is added again')),
  ]);
}

const page = (shown: Shown, title: string, parts: readonly string[]): string =>
  renderPage(title, parts.filter((part) => part !== '').join('\n'), footerOf(shown));

const address = ({ contact }: Shown): string => `<strong>${bdi(contact?.email ?? '')}</strong>`;

const subjectOf = (shown: Shown): string =>
  shown.topic ? `${bdi(shown.topic.name)} from ${bdi(senderOf(shown))}` : `mail from ${bdi(senderOf(shown))}`;

const status = (says: string): string => (says === '' ? '' : `<p class="status" role="status">${escapeHtml(says)}</p>`);

const button = (label: string, kind = ''): string =>
  `<button type="submit"${kind === '' ? '' : ` class="${kind}"`}>${escapeHtml(label)}</button>`;

const form = ({ action }: Shown, does: string, content: string): string =>
  `<form method="post" action="${action}"><input type="hidden" name="do" value="${does}">${content}</form>`;

const toChoices = ({ choices }: Shown, label: string): string =>
  `<p class="links"><a href="${choices}">${label}</a></p>`;

function topicsForm(shown: Shown): string {
  const boxes = shown.topics.map(topicBox).join('\n');
  return form(shown, 'save', `<fieldset><legend>I want to get</legend>${boxes}</fieldset>${button('Save')}`);
}

function topicBox({ id, name, description, subscription }: TopicPreference): string {
  const checked = subscription === 'opt_in' ? ' checked' : '';
  const described = description === null ? '' : ` aria-describedby="d-${id}"`;
  const says = description === null ? '' : `<span id="d-${id}">${bdi(description)}</span>`;
  return `<div class="topic"><input type="checkbox" id="t-${id}" name="topic" value="${id}"${checked}${described}><label for="t-${id}">${bdi(name)}</label>${says}<input type="hidden" name="shown" value="${id}"></div>`;
}

const senderOf = ({ team }: Preferences): string => team.sender_name ?? team.name;

function footerOf(shown: Shown): string {
  const { postal_address: postal } = shown.team;
  const lines = postal === null ? [] : addressLines(JSON.parse(postal) as PostalAddress);
  return `<address>${[senderOf(shown), ...lines].map(bdi).join('<br>')}</address>`;
}

const COUNTRIES = new Intl.DisplayNames('en', { type: 'region' });

function addressLines({ line1, line2, city, state, postal_code, country }: PostalAddress): string[] {
  const place = [city, state, postal_code].filter((part) => part).join(', ');
  return [line1, line2 ?? '', place, COUNTRIES.of(country) ?? country].filter((line) => line !== '');
}
