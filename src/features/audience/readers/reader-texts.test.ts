import { describe, expect, it } from 'vitest';
import { formatPostalLines } from './postal-lines.ts';
import { readAcceptLanguage, readLanguage } from './reader-language.ts';
import { fillHtml, LANGUAGES, READER_TEXTS } from './reader-texts.ts';

const english = READER_TEXTS.en;
const others = LANGUAGES.filter((language) => language !== 'en');
const listPlaceholders = (text: string): string[] => (text.match(/\{\w+\}/g) ?? []).toSorted();

describe('the texts for recipients', () => {
  it.each(others)('in %s have the keys and the placeholders of the English ones', (language) => {
    const texts = READER_TEXTS[language];
    expect(Object.keys(texts).toSorted()).toEqual(Object.keys(english).toSorted());
    for (const [key, text] of Object.entries(english)) {
      const translated = texts[key as keyof typeof english];
      expect(listPlaceholders(translated), `${language} ${key}`).toEqual(listPlaceholders(text));
      expect(translated.trim(), `${language} ${key}`).toBe(translated);
      expect(translated, `${language} ${key}`).not.toBe('');
    }
  });

  it.each(others)('in %s are all translated', (language) => {
    const same = Object.entries(english).filter(([key, text]) => READER_TEXTS[language][key as 'done'] === text);
    expect(same).toEqual([]);
  });

  it('contain no brace outside of a placeholder, because a footer puts them into a merge variable', () => {
    for (const language of LANGUAGES) {
      for (const text of Object.values(READER_TEXTS[language])) {
        expect(text.replaceAll(/\{\w+\}/g, '')).not.toMatch(/[{}]/);
      }
    }
  });

  it('become HTML with their own characters escaped and the values as they are', () => {
    expect(fillHtml("a < b & {topic}'s {other}", { topic: '<bdi>$&</bdi>' })).toBe(
      'a &lt; b &amp; <bdi>$&</bdi>&#39;s {other}',
    );
  });
});

describe('readLanguage', () => {
  it.each([
    ['de', 'de'],
    [' DE ', 'de'],
    ['de-CH', 'de'],
    ['pt_BR', 'pt'],
    ['fr_FR.UTF-8', 'fr'],
    ['Deutsch', 'de'],
    ['german', 'de'],
    ['日本語', 'ja'],
    ['Français', 'fr'],
  ])('reads %j as %s', (text, language) => expect(readLanguage(text)).toBe(language));

  it.each(['', 'x', 'tlh', 'den', 'ger', 'constructor', '-de'])('returns undefined for %j', (text) =>
    expect(readLanguage(text)).toBeUndefined(),
  );
});

describe('readAcceptLanguage', () => {
  it.each([
    ['de-DE,de;q=0.9,en;q=0.8', 'de'],
    ['en;q=0.5, fr;q=0.7', 'fr'],
    ['tlh, ja;q=0.1', 'ja'],
    ['de;q=0, nl;q=0.001', 'nl'],
    ['PL ; Q=1.000', 'pl'],
    ['it,fr', 'it'],
  ])('chooses from %j the language %s', (header, language) => expect(readAcceptLanguage(header)).toBe(language));

  it.each([undefined, '', '*', 'tlh', 'de;q=0', 'de;q=2', 'de;q=x', ',;,', 'german', `${' '.repeat(1000)}de`])(
    'returns undefined for %j',
    (header) => expect(readAcceptLanguage(header)).toBeUndefined(),
  );
});

describe('formatPostalLines', () => {
  const address = {
    line1: 'Musterstraße 1',
    line2: null,
    city: 'Berlin',
    state: null,
    postal_code: '10115',
    country: 'DE' as const,
  };

  it('writes the postal code where the country of the address does, in every language', () => {
    expect(formatPostalLines(address, 'en')).toEqual(['Musterstraße 1', '10115 Berlin', 'Germany']);
    expect(formatPostalLines(address, 'ja')).toEqual(['Musterstraße 1', '10115 Berlin', 'ドイツ']);
    const us = {
      ...address,
      line2: 'Floor 2',
      city: 'Springfield',
      state: 'IL',
      postal_code: '62701',
      country: 'US' as const,
    };
    expect(formatPostalLines(us, 'de')).toEqual([
      'Musterstraße 1',
      'Floor 2',
      'Springfield, IL 62701',
      'Vereinigte Staaten',
    ]);
  });

  it('leaves out what is missing', () => {
    const dublin = { ...address, line2: '', city: 'Dublin', postal_code: null, country: 'IE' as const };
    expect(formatPostalLines(dublin, 'fr')).toEqual(['Musterstraße 1', 'Dublin', 'Irlande']);
  });
});
