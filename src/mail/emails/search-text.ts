import { domainToUnicode } from 'node:url';
import type { Mailbox } from '../../protocol/address/index.ts';

// No field of an email contains it, so that no match spans two of them.
const SEPARATOR = '\n';

/**
 * Returns the text that GET /emails searches: the subject and every address, an internationalised one in both of its
 * spellings.
 */
export function buildSearchText(subject: string, mailboxes: readonly Pick<Mailbox, 'address' | 'domain'>[]): string {
  const addresses = mailboxes.flatMap(({ address, domain }) =>
    domain.includes('xn--')
      ? [address, `${address.slice(0, -domain.length)}${domainToUnicode(domain) || domain}`]
      : [address],
  );
  return [subject, ...addresses].map(foldForSearch).join(SEPARATOR);
}

/**
 * Folds a text to one letter case and one Unicode form. A final sigma becomes an ordinary one, because the end of a
 * word depends on the search.
 */
export const foldForSearch = (text: string): string =>
  text.normalize('NFC').toLowerCase().normalize('NFC').replaceAll('ς', 'σ');

/** Latin letters that are written without marks, and are no combination of a letter and a mark in Unicode. */
const PLAIN_LETTERS: Readonly<Record<string, string>> = {
  æ: 'ae',
  đ: 'd',
  ð: 'd',
  ħ: 'h',
  ı: 'i',
  ł: 'l',
  ø: 'o',
  œ: 'oe',
  ß: 'ss',
  þ: 'th',
};

/**
 * Folds a text as foldForSearch does, and Latin letters to those without accents, so that `ruckmeldung` finds
 * `Rückmeldung`. Marks of other scripts distinguish letters and stay. Two addresses may fold to the same text: this is
 * for finding, never for comparing.
 */
export const foldAccents = (text: string): string =>
  foldForSearch(text)
    .normalize('NFD')
    .replaceAll(/(\p{Script=Latin})[\u0300-\u036f]+/gu, '$1')
    .normalize('NFC')
    .replaceAll(/[æđðħıłøœßþ]/g, (letter) => PLAIN_LETTERS[letter] ?? letter)
    .toWellFormed();

export const canBeFound = (search: string): boolean => !search.includes(SEPARATOR);

const HASH_START = 0x811c9dc5;
const HASH_FACTOR = 0x01000193;
/** Hashes keep 24 bits; the numbers of teams lie above them. */
const TEAM_FROM = 1 << 24;
/** Maximum number of groups in a query. More would only make it longer: this many exclude whatever can be excluded. */
const ASKED_MAX = 24;

const step = (hash: number, unit: number): number => Math.imul(hash ^ unit, HASH_FACTOR);
const short = (hash: number): number => (hash ^ (hash >>> 13)) >>> 8;

const isDigit = (unit: number): boolean => unit >= 48 && unit <= 57;
/**
 * Length of groups with a digit. Every group of three digits occurs in any block of emails with numbers; five
 * distinguish numbers.
 */
const WITH_DIGITS = 5;

/**
 * Adds every group of one to three letters in the text, and of five with a digit, as numbers; different ones may share
 * one.
 */
export function addGrams(text: string, grams: Set<number>): void {
  let digitAt = -1;
  for (let i = 0; i < text.length; i++) {
    // Position of the last digit in the group of five that begins here.
    for (let at = Math.max(digitAt + 1, i); at < i + WITH_DIGITS && at < text.length; at++) {
      if (isDigit(text.charCodeAt(at))) digitAt = at;
    }
    const size = digitAt >= i ? WITH_DIGITS : 3;
    let hash = HASH_START;
    for (let more = 0; more < size && i + more < text.length; more++) {
      hash = step(hash, text.charCodeAt(i + more));
      if (more !== 3) grams.add(short(hash));
    }
  }
}

/** Returns the numbers that every text with `search` in it must have. */
export function gramsToFind(search: string): number[] {
  const grams = new Set<number>();
  const add = (size: number, isAsked: (group: string) => boolean): void => {
    for (let i = 0; i + size <= search.length && grams.size < ASKED_MAX; i++) {
      const group = search.slice(i, i + size);
      if (isAsked(group)) grams.add(short(hashText(group)));
    }
  };
  add(WITH_DIGITS, (group) => /[0-9]/.test(group));
  add(Math.min(3, search.length), () => true);
  return [...grams];
}

function hashText(text: string): number {
  let hash = HASH_START;
  for (let i = 0; i < text.length; i++) hash = step(hash, text.charCodeAt(i));
  return hash;
}

/** Occurs in every block of the team, so that the search skips the blocks of other teams. */
export const gramOfTeam = (teamId: string): number => TEAM_FROM + short(hashText(teamId));
