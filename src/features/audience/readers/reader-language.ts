import type { PropertyRow } from '../contact-properties/contact-properties.store.ts';
import { readPropertyValues } from '../contacts/find-contact.ts';
import type { ContactRow } from '../contacts/contacts.store.ts';
import type { TeamRow } from '../../../tenancy/teams/index.ts';
import { LANGUAGES, type Language } from './reader-texts.ts';

/** Properties that name a contact's language if the team has chosen none. */
const USUAL_PROPERTIES = ['language', 'locale'];

const nameLanguage = (language: Language, inLanguage: Language): string =>
  (new Intl.DisplayNames(inLanguage, { type: 'language' }).of(language) ?? language).toLowerCase();

/** Names of the languages, each in itself and in English. */
const NAMES = new Map<string, Language>(
  LANGUAGES.flatMap((language) => [
    [nameLanguage(language, language), language],
    [nameLanguage(language, 'en'), language],
  ]),
);

/** Reads a language tag, such as `de`, `de-CH` or `pt_BR`, or the name of a language; undefined for any other text. */
export function readLanguage(text: string): Language | undefined {
  const written = text.trim().toLowerCase();
  const [primary] = written.split(/[-_.@]/, 1);
  return LANGUAGES.find((language) => language === primary) ?? NAMES.get(written);
}

const HEADER_CHARS_MAX = 1000;

/** Returns the language that a browser prefers among those with texts (RFC 9110 §12.5.4); undefined without any of them. */
export function readAcceptLanguage(header: string | undefined): Language | undefined {
  let preferred: { language: Language; weight: number } | undefined;
  for (const range of (header ?? '').slice(0, HEADER_CHARS_MAX).split(',')) {
    const [tag = '', ...parameters] = range.split(';').map((part) => part.trim());
    const language = /^[a-z]{2}(?:-|$)/i.test(tag) ? readLanguage(tag) : undefined;
    const quality = parameters.find((parameter) => /^q=/i.test(parameter))?.slice(2) ?? '1';
    const weight = /^(?:0(?:\.\d{0,3})?|1(?:\.0{0,3})?)$/.test(quality) ? Number(quality) : 0;
    if (language !== undefined && weight > (preferred?.weight ?? 0)) preferred = { language, weight };
  }
  return preferred?.language;
}

type LanguageSetting = Pick<TeamRow, 'language_property'>;

/** Returns the property that names the language of a contact; undefined if the team has declared none. */
export function findLanguageProperty(
  { language_property: chosen }: LanguageSetting,
  properties: readonly PropertyRow[],
): PropertyRow | undefined {
  const keys = chosen === null ? USUAL_PROPERTIES : [chosen.toLowerCase()];
  const texts = properties.filter(({ type }) => type === 'string');
  return keys.flatMap((key) => texts.find((one) => one.key_folded === key) ?? []).at(0);
}

/** Returns the language of a contact; undefined if it is not known, or has no texts. */
export function findContactLanguage(
  contact: Pick<ContactRow, 'properties'>,
  property: PropertyRow | undefined,
): Language | undefined {
  const value = property && readPropertyValues(contact)[property.slot];
  return typeof value === 'string' ? readLanguage(value) : undefined;
}
