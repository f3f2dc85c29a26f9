import type { Store } from '../../../platform/store.ts';
import {
  preferenceToken,
  readPreferenceToken,
  type LinkKeys,
  type PreferenceLink,
} from '../../../protocol/preference-links.ts';
import { sendingNames } from '../../../mail/domains/index.ts';

/** Whom a link is for, and the mail that it stands in, as far as it is known. */
export interface LinkedMail {
  contact: { id: string; team_id: string; email_key: string };
  topicId: string | null;
  emailId?: string | null;
}

/** What a mail to many carries, so that each recipient can leave. */
export interface WayOut {
  /** Values of the merge variables. */
  variables: { UNSUBSCRIBE_URL: string; PREFERENCES_URL: string };
  /** RFC 8058; both are among the fields that DKIM signs. */
  headers: [name: string, value: string][];
}

/**
 * Where links in mail of a domain stand: on its tracking host while DNS leads that to us, else under `http.public_url`. What
 * never leaves the machine is read on it.
 */
export async function preferenceOrigin(store: Store, domainId: string): Promise<string> {
  const { delivery, tracking } = store.config;
  const [name] = delivery.capture ? [] : await sendingNames(store.db, [domainId]);
  const host = name?.tracking_host ?? null;
  return host === null ? store.origin() : `${tracking.scheme}://${host}`;
}

/** The links of one contact under an origin, without asking the database: a broadcast makes a million of them. */
export function wayOutOf(store: Store, origin: string, mail: LinkedMail): WayOut {
  const token = preferenceToken(linkOf('choice', mail), keysOf(store));
  const unsubscribe = `${origin}/unsubscribe/${token}`;
  return {
    variables: { UNSUBSCRIBE_URL: unsubscribe, PREFERENCES_URL: `${origin}/preferences/${token}` },
    headers: [
      ['List-Unsubscribe', `<${unsubscribe}>`],
      ['List-Unsubscribe-Post', 'List-Unsubscribe=One-Click'],
    ],
  };
}

/** Stands for a token in mail that has no real reader: its pages say so, and change nothing. */
export const SAMPLE_TOKEN = 'test';

/** The links of a preview or a test, which belong to no contact: a reader whom it is passed on to unsubscribes no contact by it. */
export const sampleLinks = (origin: string): WayOut['variables'] => ({
  UNSUBSCRIBE_URL: `${origin}/unsubscribe/${SAMPLE_TOKEN}`,
  PREFERENCES_URL: `${origin}/preferences/${SAMPLE_TOKEN}`,
});

/** The link that opts a contact in to a topic. */
export const confirmationUrl = (store: Store, origin: string, mail: LinkedMail & { topicId: string }): string =>
  `${origin}/confirm/${preferenceToken(linkOf('confirmation', mail), keysOf(store))}`;

/** The token of the choices behind `link`, whatever kind of link it is. */
export const choiceToken = (store: Store, link: PreferenceLink): string =>
  preferenceToken({ ...link, kind: 'choice' }, keysOf(store));

/** Also one that was made before the instance key was replaced. */
export function openPreferenceLink(store: Store, token: string): PreferenceLink | undefined {
  const found = readPreferenceToken(token, keysOf(store));
  if (found) return found;
  const covers = store.secrets.otherMacs(COVER);
  for (const [i, tag] of store.secrets.otherMacs(TAG).entries()) {
    const cover = covers[i];
    const older = cover && readPreferenceToken(token, { tag, cover });
    if (older) return older;
  }
  return undefined;
}

/** Whether an address in a mail is one of these links, under whichever host it stands. */
export function isPreferenceLink(store: Store, address: string): boolean {
  const token = LINK.exec(address)?.[1];
  return token !== undefined && openPreferenceLink(store, token) !== undefined;
}

const LINK = /^https?:\/\/[^/?#]+\/(?:unsubscribe|preferences|confirm)\/([A-Za-z0-9_-]{60,1000})\/?(?:[?#]|$)/;
const TAG = 'preference link';
const COVER = 'cover of a preference link';

const keysOf = ({ secrets }: Store): LinkKeys => ({
  tag: (bytes) => secrets.mac(TAG, bytes),
  cover: (bytes) => secrets.mac(COVER, bytes),
});

const linkOf = (kind: PreferenceLink['kind'], { contact, topicId, emailId = null }: LinkedMail): PreferenceLink => ({
  kind,
  teamId: contact.team_id,
  contactId: contact.id,
  emailKey: contact.email_key,
  topicId,
  emailId,
});
