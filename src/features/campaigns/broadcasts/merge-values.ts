import type { PostalAddress } from '../../../contract/index.ts';
import { collectKeys, mergedChars, parseMerge, renderMerge, type MergeText } from '../../../protocol/merge.ts';
import { shortLine } from '../../../protocol/mime-read/index.ts';
import {
  fillFooter,
  findContactLanguage,
  findLanguageProperty,
  formatPostalLines,
  readPropertyValues,
  type ContactRow,
  type PropertyRow,
  type WayOut,
} from '../../audience/index.ts';
import type { MergedBody, SharedValues } from '../../../mail/shared-bodies/index.ts';
import type { TeamRow } from '../../../tenancy/teams/index.ts';

/** Merge variables that do not come from the contact; the sender sets them. */
export const LINK_KEYS: readonly string[] = ['UNSUBSCRIBE_URL', 'PREFERENCES_URL'];
/** The merge variable of the link that shows the mail in a browser; the sender sets it as well. */
export const VIEW_KEY = 'VIEW_IN_BROWSER_URL';
/** Merge variables that are fields of every contact. */
const FIELD_KEYS: readonly string[] = ['FIRST_NAME', 'LAST_NAME', 'EMAIL'];

/** Merge variables of the team, unless it has declared a property with that name. */
const TEAM_KEYS: readonly string[] = ['SENDER_NAME', 'POSTAL_ADDRESS'];

/** The values that a team prints as its name and address. */
export type Sender = Pick<
  TeamRow,
  'name' | 'sender_name' | 'postal_address' | 'default_language' | 'language_property'
>;

/** Lists the lines that name the sender of marketing mail, and its address. The country is the last line. */
export function listSenderLines(team: Sender): { name: string; address: string[] } {
  const address = team.postal_address === null ? undefined : (JSON.parse(team.postal_address) as PostalAddress);
  return {
    name: withoutBraces(team.sender_name ?? team.name),
    address: address === undefined ? [] : formatPostalLines(address, team.default_language).map(withoutBraces),
  };
}

/** Replaces braces, in a default and in text that must contain no variable. */
export const withoutBraces = (text: string): string => text.replaceAll('{', '(').replaceAll('}', ')');

/**
 * Returns the one-line value of a variable of the team; undefined for any other variable, and if a property has its
 * name.
 */
export function teamValue(key: string, team: Sender, properties: readonly PropertyRow[]): string | undefined {
  return isTeamKey(key, properties) ? teamText(key, team) : undefined;
}

function teamText(key: string, team: Sender): string {
  const { name, address } = listSenderLines(team);
  return key.toUpperCase() === 'SENDER_NAME' ? name : address.join(', ');
}

export const isTeamKey = (key: string, properties: readonly Pick<PropertyRow, 'key_folded'>[]): boolean =>
  TEAM_KEYS.includes(key.toUpperCase()) && propertyNamed(properties, key) === undefined;

/** Returns the canonical key for any letter case; undefined if no contact could have such a key. */
export function builtInKey(key: string): string | undefined {
  const upper = key.toUpperCase();
  return LINK_KEYS.includes(upper) || upper === VIEW_KEY || FIELD_KEYS.includes(upper) ? upper : undefined;
}

export const propertyNamed = <Property extends Pick<PropertyRow, 'key_folded'>>(
  properties: readonly Property[],
  key: string,
): Property | undefined => properties.find((one) => one.key_folded === key.toLowerCase());

/**
 * Values for a contact without a value of its own, by property key in lower case. The keys of the team always print the
 * team's value, whatever the contact has.
 */
export type Fallbacks = Readonly<Record<string, string>>;

export function fallbacksIn(properties: readonly PropertyRow[], team?: Sender): Fallbacks {
  const declared = properties.flatMap(({ key_folded: key, fallback_value: value }): [string, string][] =>
    value === null ? [] : [[key, String(JSON.parse(value) as string | number)]],
  );
  // A property with the name of a team's key takes precedence over it; the team's value is used where the property has
  // none.
  const own =
    team === undefined ? [] : TEAM_KEYS.map((key): [string, string] => [key.toLowerCase(), teamText(key, team)]);
  return Object.fromEntries([...own, ...declared]);
}

/** The same limit as for any email. */
const SUBJECT_BYTES_MAX = 998;

/** Values that a recipient has, and fallbacks for those that are missing and have no default in the text. */
export interface RecipientValues {
  given: Record<string, string>;
  fallbacks: Record<string, string>;
}

/** Names that may be merged: the properties that find a contact's values, and the fallbacks for missing ones. */
export interface Known {
  properties: readonly PropertyRow[];
  fallbacks: Fallbacks;
}

export type MergedContact = Pick<ContactRow, 'email' | 'first_name' | 'last_name' | 'properties'>;

/**
 * Returns the values of the keys that a text uses, except those of `LINK_KEYS` and `VIEW_KEY`. A contact without a value, or with an
 * empty one, gets none: the default in the text applies first, then the property's fallback.
 */
export function buildMergeValues(
  contact: MergedContact,
  { properties, fallbacks: declared }: Known,
  keysUsed: Iterable<string>,
): RecipientValues {
  const fields: Record<string, string | null> = {
    FIRST_NAME: contact.first_name,
    LAST_NAME: contact.last_name,
    EMAIL: contact.email,
  };
  const values = readPropertyValues(contact);
  const given: [string, string][] = [];
  const fallbacks: [string, string][] = [];
  for (const key of keysUsed) {
    const builtIn = builtInKey(key);
    if (builtIn !== undefined) {
      const field = fields[builtIn] ?? '';
      if (field !== '') given.push([key, field]);
      continue;
    }
    const property = propertyNamed(properties, key);
    const value = property === undefined ? '' : String(values[property.slot] ?? '');
    const fallback = Object.hasOwn(declared, key.toLowerCase()) ? declared[key.toLowerCase()] : undefined;
    const own = isTeamKey(key, properties) ? (fallback ?? '') : value;
    if (own !== '') given.push([key, own]);
    else if (fallback !== undefined) fallbacks.push([key, fallback]);
  }
  return { given: Object.fromEntries(given), fallbacks: Object.fromEntries(fallbacks) };
}

/** Combines the values and the links of one email for rendering. */
export function rendered({ given, fallbacks }: RecipientValues, links: Readonly<Record<string, string>>) {
  return {
    given: new Map([...Object.entries(given), ...Object.entries(links)]),
    fallbacks: new Map(Object.entries(fallbacks)),
  };
}

/**
 * Renders a subject with its values. The result is one line, because a line break in a value would begin another
 * header, and is cut to the maximum length of a subject.
 */
export const renderSubject = (subject: string | MergeText, values: ReturnType<typeof rendered>): string =>
  shortLine(renderMerge(subject, values, { escape: 'none' }), SUBJECT_BYTES_MAX);

/** Merge data that all emails of a broadcast share. */
export interface MergedMail extends Known {
  subject: MergeText;
  /** Keys used in the subject or the bodies. */
  keys: ReadonlySet<string>;
  bodyKeys: ReadonlySet<string>;
  body: MergedBody;
  /** The property that names the language of a contact. */
  languageProperty: PropertyRow | undefined;
}

export function mergedMail(
  subject: string,
  body: MergedBody,
  { properties, fallbacks, team }: Known & { team: Pick<Sender, 'language_property'> },
): MergedMail {
  const parsed = parseMerge(subject);
  const bodyKeys = new Set([body.html, body.text].flatMap((one) => [...collectKeys(one ?? [])]));
  return {
    subject: parsed,
    keys: new Set([...collectKeys(parsed), ...bodyKeys]),
    bodyKeys,
    body,
    properties,
    fallbacks,
    languageProperty: findLanguageProperty(team, properties),
  };
}

/** Reports whether a mail contains the link that shows it in a browser. */
export const isViewable = ({ keys }: Pick<MergedMail, 'keys'>): boolean =>
  [...keys].some((key) => builtInKey(key) === VIEW_KEY);

/** Maximum length of the bodies; the same as for any other email. */
export const CHARS_MAX = 2 * 1024 * 1024;

/**
 * Reports whether the rendered mail would be too large. The length is computed before anything is rendered, because a
 * short text can repeat a long value thousands of times.
 */
export function isTooLarge({ html, text }: MergedBody, { given, fallbacks }: Required<SharedValues>): boolean {
  const values = rendered({ given, fallbacks }, {});
  const chars =
    mergedChars(html ?? [], values, { escape: 'html', areForeign: true }) +
    mergedChars(text ?? [], values, { escape: 'none' });
  return chars > CHARS_MAX;
}

/**
 * Returns the mail of one contact: its subject, and the values for its body. Values that are given for the mail, such
 * as its unsubscribe links, take precedence over the contact's own.
 */
export function mailFor(
  mail: MergedMail,
  contact: MergedContact,
  links: WayOut['variables'] & Readonly<Record<string, string>>,
): { subject: string; values: Required<SharedValues> } {
  const own = buildMergeValues(contact, mail, mail.keys);
  const ofBody = (values: Readonly<Record<string, string>>): [string, string][] =>
    Object.entries(values).filter(([key]) => mail.bodyKeys.has(key));
  return {
    subject: renderSubject(mail.subject, rendered(own, links)),
    values: {
      given: Object.fromEntries([
        ...ofBody(fillFooter(mail.bodyKeys, findContactLanguage(contact, mail.languageProperty))),
        ...ofBody(own.given),
        ...ofBody(links),
      ]),
      fallbacks: Object.fromEntries(ofBody(own.fallbacks)),
    },
  };
}
