import type { Store } from '../../../platform/store.ts';
import {
  preferenceToken,
  readPreferenceToken,
  type LinkKeys,
  type PreferenceLink,
} from '../../../protocol/preference-links.ts';

/** Contact that a link is for, and the mail that contains it, as far as known. */
export interface LinkedMail {
  contact: { id: string; team_id: string; email_key: string };
  topicId: string | null;
  emailId?: string | null;
  /** The address whose mail unsubscribes, if this server receives it. */
  mailto?: string | undefined;
  /** The mail contains a link that shows it in a browser. */
  isViewable?: boolean;
}

/** Unsubscribe links and headers of marketing mail. */
export interface WayOut {
  /** Values of the merge variables. */
  variables: { UNSUBSCRIBE_URL: string; PREFERENCES_URL: string; VIEW_IN_BROWSER_URL?: string };
  /** Headers of RFC 2369 and RFC 8058; both are among the fields that DKIM signs. */
  headers: [name: string, value: string][];
}

/**
 * Returns the links of one contact under an origin, without reading the database: a broadcast creates a million of
 * them.
 */
export function buildUnsubscribeLinks(store: Store, origin: string, mail: LinkedMail): WayOut {
  const token = preferenceToken(buildLink('choice', mail), createLinkKeys(store));
  const unsubscribe = `${origin}/unsubscribe/${token}`;
  return {
    variables: {
      UNSUBSCRIBE_URL: unsubscribe,
      PREFERENCES_URL: `${origin}/preferences/${token}`,
      // Another keyed hash for each recipient, so it is made only where it is used.
      ...(mail.isViewable === true && {
        VIEW_IN_BROWSER_URL: `${origin}/view/${preferenceToken(buildLink('view', mail), createLinkKeys(store))}`,
      }),
    },
    headers: [
      [
        'List-Unsubscribe',
        `<${unsubscribe}>${mail.mailto === undefined ? '' : `, <${writeMailto(mail.mailto, token)}>`}`,
      ],
      ['List-Unsubscribe-Post', 'List-Unsubscribe=One-Click'],
    ],
  };
}

/** The token is in the subject: with the address of the contact it can be too long for a local part. */
const writeMailto = (address: string, token: string): string => `mailto:${address}?subject=unsubscribe%20${token}`;

/** Reads the token in the subject of mail to that address. Some programs add words of their own. */
export const findMailedToken = (subject: string): string | undefined =>
  /(?<![A-Za-z0-9_-])[A-Za-z0-9_-]{60,1000}(?![A-Za-z0-9_-])/.exec(subject.slice(0, 2000))?.[0];

/** Replaces the token in mail without a real reader: its pages say so, and change nothing. */
export const SAMPLE_TOKEN = 'test';

/**
 * Returns the links of a preview or a test. They belong to no contact, so that the recipient of a forwarded copy cannot
 * unsubscribe anybody.
 */
export const sampleLinks = (origin: string): WayOut['variables'] => ({
  UNSUBSCRIBE_URL: `${origin}/unsubscribe/${SAMPLE_TOKEN}`,
  PREFERENCES_URL: `${origin}/preferences/${SAMPLE_TOKEN}`,
  VIEW_IN_BROWSER_URL: `${origin}/view/${SAMPLE_TOKEN}`,
});

/** Reports whether an address is a link of a preview or a test. */
export const isSampleLink = (address: string): boolean => SAMPLE.test(address);

/** Returns the link that opts a contact in to a topic. */
export const confirmationUrl = (store: Store, origin: string, mail: LinkedMail & { topicId: string }): string =>
  `${origin}/confirm/${preferenceToken(buildLink('confirmation', mail), createLinkKeys(store))}`;

/** Returns the link that confirms a sign-up with a form; `contact` has the id of the sign-up. */
export const signUpUrl = (
  store: Store,
  origin: string,
  { contact, formId }: { contact: LinkedMail['contact']; formId: string },
): string =>
  `${origin}/confirm/${preferenceToken(buildLink('sign_up', { contact, topicId: formId }), createLinkKeys(store))}`;

/** Returns the token of the preferences page for a link of any kind. */
export const choiceToken = (store: Store, link: PreferenceLink): string =>
  preferenceToken({ ...link, kind: 'choice' }, createLinkKeys(store));

/** Reads a token, even one created before the instance key was replaced. */
export function openPreferenceLink(store: Store, token: string): PreferenceLink | undefined {
  const found = readPreferenceToken(token, createLinkKeys(store));
  if (found) return found;
  const covers = store.secrets.otherMacs(COVER);
  for (const [i, tag] of store.secrets.otherMacs(TAG).entries()) {
    const cover = covers[i];
    const older = cover && readPreferenceToken(token, { tag, cover });
    if (older) return older;
  }
  return undefined;
}

/** Returns the kind of one of these links in a mail, under any host; undefined for any other address. */
export function findLinkKind(store: Store, address: string): PreferenceLink['kind'] | undefined {
  const token = LINK.exec(address)?.[1];
  return token === undefined ? undefined : openPreferenceLink(store, token)?.kind;
}

/**
 * Replaces these links in a text by those of a sample, so that its reader cannot decide for the recipient of the mail.
 * Beyond the first thousand, everything that looks like such a link is replaced.
 */
export function withSampleLinks(store: Store, text: string): string {
  let checked = 0;
  return text.replaceAll(LINK_PATH, (link: string, path: string, token: string) => {
    const isForeign = ++checked <= CHECKED_MAX && openPreferenceLink(store, token) === undefined;
    return isForeign ? link : path + SAMPLE_TOKEN;
  });
}

/** Checking so many tokens takes a few milliseconds; a hostile body of 2 MB has room for 25,000. */
const CHECKED_MAX = 1000;
/** The pages that these links open. */
const PAGES = '(?:unsubscribe|preferences|confirm|view)';
const TOKEN = '[A-Za-z0-9_-]{60,1000}';
const LINK_PATH = new RegExp(`(/${PAGES}/)(${TOKEN})(?![A-Za-z0-9_-])`, 'g');
const LINK = new RegExp(`^https?://[^/?#]+/${PAGES}/(${TOKEN})/?(?:[?#]|$)`);
const SAMPLE = new RegExp(`/${PAGES}/${SAMPLE_TOKEN}$`);
const TAG = 'preference link';
const COVER = 'cover of a preference link';

const createLinkKeys = ({ secrets }: Store): LinkKeys => ({
  tag: (bytes) => secrets.mac(TAG, bytes),
  cover: (bytes) => secrets.mac(COVER, bytes),
});

const buildLink = (kind: PreferenceLink['kind'], { contact, topicId, emailId = null }: LinkedMail): PreferenceLink => ({
  kind,
  teamId: contact.team_id,
  contactId: contact.id,
  emailKey: contact.email_key,
  topicId,
  emailId,
});
