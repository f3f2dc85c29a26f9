import type { PostalAddress } from '../../../contract/index.ts';
import type { Preferences, TopicPreference } from '../../../features/audience/index.ts';
import { escapeHtml } from '../../../protocol/safe-html/index.ts';
import { bdi, formStyle, renderDocument, hashStyle } from '../layout/index.ts';
import { privatePageHeaders } from '../page.ts';

/** Headers of these pages. `form-action` allows only the page's own host, so a scanner that follows a form stays here. */
export const preferencePageHeaders = {
  ...privatePageHeaders(`default-src 'none'; style-src ${hashStyle(formStyle)}; base-uri 'none'; form-action 'self'`),
  'content-type': 'text/html; charset=utf-8',
};

/** Renders a page. `main` and `footer` are HTML already. */
const renderPage = (title: string, main: string, footer = ''): string =>
  renderDocument(
    title,
    `<main><h1>${bdi(title)}</h1>
${main}</main>${footer === '' ? '' : `\n<footer>${footer}</footer>`}`,
    formStyle,
  );

/** The change that was just made, which the page reports first; undefined for a GET. */
export type Done = 'unsubscribed' | 'subscribed' | 'saved' | undefined;

interface Shown extends Preferences {
  /** The URL that the page's forms post to. */
  action: string;
  /** The URL of the preference page. */
  choices: string;
  done: Done;
}

/** Renders the page of an unsubscribe link, on which a reader leaves the topic of the mail, or everything. */
export function renderUnsubscribe(shown: Shown): string {
  const { contact, topic, done } = shown;
  if (!contact) return renderErased(shown, 'unsubscribe');
  const more = topic ? CHOOSE_OR_LEAVE : 'Manage your email preferences';
  if (!shown.isUnsubscribed && topic?.subscription !== 'opt_out') {
    const what = topic ? topic.name : `all email from ${senderName(shown)}`;
    return renderTeamPage(shown, `Unsubscribe from ${what}`, [
      renderStatus(done === 'subscribed' ? 'Done. You are subscribed again.' : ''),
      `<p>${renderEmail(shown)} receives ${renderSubject(shown)}.</p>`,
      renderForm(shown, 'unsubscribe', renderButton('Unsubscribe')),
      renderChoicesLink(shown, more),
    ]);
  }
  // A contact who left everything subscribes again on the page that lists everything.
  const isOneStepBack = shown.mayJoin && !(topic && shown.isUnsubscribed);
  return renderTeamPage(shown, 'You are unsubscribed', [
    renderStatus(done === 'unsubscribed' ? 'Done.' : ''),
    `<p>${renderEmail(shown)} will no longer receive ${shown.isUnsubscribed ? `email from ${bdi(senderName(shown))}` : renderSubject(shown)}.</p>`,
    isOneStepBack ? renderForm(shown, 'subscribe', renderButton('Subscribe again', 'second')) : '',
    renderChoicesLink(shown, more),
  ]);
}

const CHOOSE_OR_LEAVE = 'Manage your email preferences, or unsubscribe from everything';

const SAVED = {
  unsubscribed: 'Done. You are unsubscribed from everything.',
  subscribed: 'Done. You are subscribed again.',
  saved: 'Your preferences were saved.',
};

export function renderPreferences(shown: Shown): string {
  if (!shown.contact) return renderErased(shown, 'unsubscribe_all');
  const { isUnsubscribed, topics, done } = shown;
  const back = shown.mayJoin ? renderForm(shown, 'subscribe_all', renderButton('Subscribe again', 'second')) : '';
  const leave = renderForm(shown, 'unsubscribe_all', renderButton('Unsubscribe from everything', 'second'));
  const allEmail = isUnsubscribed ? back : leave;
  return renderTeamPage(shown, `Email preferences: ${senderName(shown)}`, [
    renderStatus(done === undefined ? '' : SAVED[done]),
    `<p>These preferences apply to ${renderEmail(shown)}.</p>`,
    isUnsubscribed
      ? '<p>You have unsubscribed from everything. Your choices below take effect when you subscribe again.</p>'
      : '',
    shown.mayJoin && topics.length > 0 ? renderTopics(shown) : '',
    allEmail === '' ? '' : `<h2>All email</h2>\n${allEmail}`,
  ]);
}

export function renderConfirmation(shown: Shown): string {
  const { topic, contact, done } = shown;
  if (!contact) return renderErased(shown);
  const link = renderChoicesLink(shown, CHOOSE_OR_LEAVE);
  if (!topic || !shown.mayJoin) {
    const says = 'This subscription is no longer offered. You do not need to do anything.';
    return renderTeamPage(shown, 'Nothing to confirm', [`<p>${says}</p>`, link]);
  }
  if (topic.subscription === 'opt_in') {
    return renderTeamPage(shown, `You are subscribed to ${topic.name}`, [
      renderStatus(done === undefined ? '' : 'Done.'),
      shown.isUnsubscribed
        ? `<p>You have unsubscribed from everything, so nothing is sent until you subscribe again.</p>`
        : `<p>${renderEmail(shown)} receives ${renderSubject(shown)}.</p>`,
      link,
    ]);
  }
  return renderTeamPage(shown, `Subscribe to ${topic.name}`, [
    `<p>${bdi(senderName(shown))} received a request to send ${bdi(topic.name)} to ${renderEmail(shown)}.</p>`,
    topic.description === null ? '' : `<p>${bdi(topic.description)}</p>`,
    renderForm(shown, 'subscribe', renderButton('Confirm subscription')),
    '<p class="links">If you did not request this, do nothing. You are not subscribed unless you confirm.</p>',
  ]);
}

export const renderNoLink = (): string =>
  renderPage(
    'This link does not work',
    '<p>It may be incomplete. Open it again from the email, or copy the whole address.</p>',
  );

export const renderSample = (): string =>
  renderPage(
    'This link is a sample',
    '<p>The email that contains it is a test or a preview, so there is nobody to unsubscribe. In an email that is sent to contacts, each contact has a link of their own.</p>',
  );

export const renderMethodRefused = (): string =>
  renderPage('Method not allowed', '<p>Open the link from the email.</p>');

export const renderTooLarge = (): string =>
  renderPage('Request too large', '<p>Nothing was changed. Open the link again from the email.</p>');

export const renderBusy = (): string =>
  renderPage('Try again soon', '<p>Nothing was changed. Open the link again in a few seconds.</p>');

/**
 * Renders the page for a contact that was deleted. `does` is the action of the button: the reader can still unsubscribe,
 * because the address may be added again.
 */
function renderErased(shown: Shown, does?: 'unsubscribe' | 'unsubscribe_all'): string {
  const { topic, isUnsubscribed, done } = shown;
  const isOut = isUnsubscribed || (does === 'unsubscribe' && topic?.subscription === 'opt_out');
  const what = does === 'unsubscribe' ? renderSubject(shown) : `email from ${bdi(senderName(shown))}`;
  return renderTeamPage(shown, 'You are not on the list', [
    renderStatus(done === 'unsubscribed' && isOut ? 'Done.' : ''),
    `<p>${bdi(senderName(shown))} has deleted the address this link was sent to and no longer sends email to it.</p>`,
    isOut ? `<p>If the address is added again, it will not receive ${what}.</p>` : '',
    does === undefined || isOut ? '' : renderForm(shown, does, renderButton('Stay unsubscribed')),
  ]);
}

const renderTeamPage = (shown: Shown, title: string, parts: readonly string[]): string =>
  renderPage(title, parts.filter((part) => part !== '').join('\n'), renderFooter(shown));

const renderEmail = ({ contact }: Shown): string => `<strong>${bdi(contact?.email ?? '')}</strong>`;

const renderSubject = (shown: Shown): string =>
  shown.topic ? `${bdi(shown.topic.name)} from ${bdi(senderName(shown))}` : `email from ${bdi(senderName(shown))}`;

const renderStatus = (says: string): string =>
  says === '' ? '' : `<p class="status" role="status">${escapeHtml(says)}</p>`;

const renderButton = (label: string, kind = ''): string =>
  `<button type="submit"${kind === '' ? '' : ` class="${kind}"`}>${escapeHtml(label)}</button>`;

const renderForm = ({ action }: Shown, does: string, content: string): string =>
  `<form method="post" action="${action}"><input type="hidden" name="do" value="${does}">${content}</form>`;

const renderChoicesLink = ({ choices }: Shown, label: string): string =>
  `<p class="links"><a href="${choices}">${label}</a></p>`;

function renderTopics(shown: Shown): string {
  const boxes = shown.topics.map(renderTopic).join('\n');
  return renderForm(
    shown,
    'save',
    `<fieldset><legend>I want to receive</legend>${boxes}</fieldset>${renderButton('Save')}`,
  );
}

function renderTopic({ id, name, description, subscription }: TopicPreference): string {
  const checked = subscription === 'opt_in' ? ' checked' : '';
  const described = description === null ? '' : ` aria-describedby="d-${id}"`;
  const says = description === null ? '' : `<span id="d-${id}">${bdi(description)}</span>`;
  return `<div class="topic"><input type="checkbox" id="t-${id}" name="topic" value="${id}"${checked}${described}><label for="t-${id}">${bdi(name)}</label>${says}<input type="hidden" name="shown" value="${id}"></div>`;
}

const senderName = ({ team }: Preferences): string => team.sender_name ?? team.name;

function renderFooter(shown: Shown): string {
  const { postal_address: postal } = shown.team;
  const lines = postal === null ? [] : formatAddress(JSON.parse(postal) as PostalAddress);
  return `<address>${[senderName(shown), ...lines].map(bdi).join('<br>')}</address>`;
}

const COUNTRIES = new Intl.DisplayNames('en', { type: 'region' });

function formatAddress({ line1, line2, city, state, postal_code, country }: PostalAddress): string[] {
  const place = [city, state, postal_code].filter((part) => part).join(', ');
  return [line1, line2 ?? '', place, COUNTRIES.of(country) ?? country].filter((line) => line !== '');
}
