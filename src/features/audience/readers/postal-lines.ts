import type { PostalAddress } from '../../../contract/index.ts';
import type { Language } from './reader-texts.ts';

/** Countries that write the postal code after the city and the state; all others write it first. */
const CODE_LAST = new Set(
  'AE AU BD BH BM BR BN CA CN CO EG FJ GB GG HK ID IE IM IN IQ IR JE JO JP KH KR KY LB LK LV MM MT MY NP NZ OM PH PK PR SA SG TH TW UA US VE VI VN ZA'.split(
    ' ',
  ),
);

/** Returns the lines of a postal address in the order of its country, with the name of the country as the last. */
export function formatPostalLines(address: PostalAddress, language: Language): string[] {
  const { line1, line2, city, state, postal_code: code, country } = address;
  const place = CODE_LAST.has(country)
    ? joinParts([joinParts([city, state], ', '), code], ' ')
    : joinParts([code, city, state], ' ');
  return [line1, line2, place, nameCountry(country, language)].filter((line) => line !== null).filter(Boolean);
}

const joinParts = (parts: readonly (string | null)[], separator: string): string =>
  parts.filter(Boolean).join(separator);

const names = new Map<Language, Intl.DisplayNames>();

export function nameCountry(country: string, language: Language): string {
  const known = names.get(language) ?? new Intl.DisplayNames(language, { type: 'region' });
  names.set(language, known);
  return known.of(country) ?? country;
}
