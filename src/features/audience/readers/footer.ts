import { nameCountry } from './postal-lines.ts';
import { READER_TEXTS, type Language } from './reader-texts.ts';

/**
 * Variables of a footer that is written in the language of each contact. The code of the country follows `country`. A
 * property with such a name takes precedence.
 */
export const FOOTER_KEYS = {
  language: 'RASKET_FOOTER_LANGUAGE',
  unsubscribe: 'RASKET_FOOTER_UNSUBSCRIBE',
  country: 'RASKET_FOOTER_COUNTRY_',
};

/** Returns the values of those variables among the keys; none if the language is not known, so that the defaults apply. */
export function fillFooter(keys: ReadonlySet<string>, language: Language | undefined): Record<string, string> {
  if (language === undefined) return {};
  const countries = [...keys].filter((key) => key.startsWith(FOOTER_KEYS.country));
  return {
    [FOOTER_KEYS.language]: language,
    [FOOTER_KEYS.unsubscribe]: READER_TEXTS[language].unsubscribe,
    ...Object.fromEntries(countries.map((key) => [key, nameCountry(key.slice(FOOTER_KEYS.country.length), language)])),
  };
}
