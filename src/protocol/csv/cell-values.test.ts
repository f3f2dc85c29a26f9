import { describe, expect, it } from 'vitest';
import { addDecimalSign, readLocalNumber, readYesNo, type ColumnSign } from './cell-values.ts';

const findSign = (texts: readonly string[]): ColumnSign | undefined =>
  texts.reduce<ColumnSign | undefined>(addDecimalSign, undefined);

describe('readLocalNumber', () => {
  it.each<[string, number]>([
    ['7', 7],
    ['-2.', -2],
    ['.5', 0.5],
    ['1e3', 1000],
    ['3,5', 3.5],
    ['-0,125', -0.125],
    ['1234,567', 1234.567],
    ['1.234,5', 1234.5],
    ['1,234.5', 1234.5],
    ['1.234.567', 1_234_567],
    ['1,234,567', 1_234_567],
    ['1 234,5', 1234.5],
    ['1\u00A0234\u00A0567', 1_234_567],
    ['1\u202F234,50', 1234.5],
    ["1'234.50", 1234.5],
    ['1 234,567', 1234.567],
    ['+12', 12],
  ])('reads %s as %d, whatever the column shows', (text, number) => {
    for (const sign of [undefined, 'point', 'comma', 'mixed'] as const)
      expect(readLocalNumber(text, sign)).toBe(number);
  });

  it.each<[string, ColumnSign | undefined, number | 'ambiguous']>([
    ['1.234', undefined, 1.234],
    ['1.234', 'point', 1.234],
    ['1.234', 'comma', 1234],
    ['1.234', 'mixed', 'ambiguous'],
    ['1,234', undefined, 'ambiguous'],
    ['1,234', 'point', 1234],
    ['1,234', 'comma', 1.234],
    ['1,234', 'mixed', 'ambiguous'],
  ])('reads the ambiguous %s in a column that shows %s as %s', (text, sign, number) => {
    expect(readLocalNumber(text, sign)).toBe(number);
  });

  it.each([
    '0x10',
    '1_000',
    'Infinity',
    '--1',
    '1,2,3',
    '12.34.56',
    '1 2',
    '1.234.5,6',
    '1,23.4,5',
    '',
    '.',
    ',',
    'k.A.',
    '1 234.567,8',
  ])('does not read %j as a number', (text) => {
    expect(readLocalNumber(text, undefined)).toBeUndefined();
    expect(readLocalNumber(text, 'comma')).toBeUndefined();
  });

  it('reads no number from a text of a million digits and separators', () => {
    expect(readLocalNumber('1,'.repeat(500_000), undefined)).toBeUndefined();
    expect(readLocalNumber(`${'1'.repeat(1_000_000)}x`, 'comma')).toBeUndefined();
  });
});

describe('addDecimalSign', () => {
  it.each<[string[], ColumnSign | undefined]>([
    [['7', '1.234', '1,234', ''], undefined],
    [['7', '1.234', '3,5'], 'comma'],
    [['1.234.567'], 'comma'],
    [['7.25', '1,234'], 'point'],
    [['1,234,567'], 'point'],
    [['3,5', '3.5', '4,5'], 'mixed'],
    [['1 234', 'k.A.'], undefined],
  ])('finds in the values %j the decimal sign %s', (texts, sign) => {
    expect(findSign(texts)).toBe(sign);
  });
});

describe('readYesNo', () => {
  it.each<[string, string, string]>([
    ['English', 'Yes', 'NO'],
    ['German', 'Ja', 'Nein'],
    ['French', 'Oui', 'Non'],
    ['Spanish', 'Sí', 'No'],
    ['Italian', 'Sì', 'no'],
    ['Portuguese', 'Sim', 'Não'],
    ['Dutch', 'ja', 'Nee'],
    ['Polish', 'TAK', 'nie'],
    ['Swedish', 'ja', 'nej'],
    ['Japanese', 'はい', 'いいえ'],
    ['a German spreadsheet', 'WAHR', 'FALSCH'],
    ['a Polish spreadsheet', 'PRAWDA', 'FAŁSZ'],
    ['decomposed characters', 'si\u0301', 'na\u0303o'],
  ])('reads the yes and no of %s', (_, yes, no) => {
    expect([readYesNo(yes), readYesNo(` ${no} `)]).toEqual([true, false]);
  });

  it.each(['VIP', '', 'constructor', '2', 'maybe'])('reads %j as neither', (text) => {
    expect(readYesNo(text)).toBeUndefined();
  });
});
