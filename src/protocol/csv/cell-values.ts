/** The character between the whole part of a number and its decimals. */
type DecimalSign = 'point' | 'comma';
/** The decimal sign that the numbers of a column show; `mixed` if some show a point and some a comma. */
export type ColumnSign = DecimalSign | 'mixed';

/** Excludes other bases. No digit can match two parts, or a long cell would take quadratic time. */
const PLAIN = /^[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:e[+-]?\d+)?$/i;
/** Longer numbers are read only in the plain form. */
const LOCAL_CHARS_MAX = 40;
/** Digits, period, comma, and the spaces and apostrophes that separate groups of three digits. */
const LOCAL = /^([+-]?)([\d., \u00A0\u202F\u2009'\u2019]+)$/;

/** The parts of a number with separators. */
interface LocalNumber {
  sign: string;
  whole: string;
  decimals: string;
  /** Undefined if the number has neither a decimal sign nor a period or comma between groups. */
  decimalSign: DecimalSign | undefined;
}

const SIGNS = { point: '.', comma: ',' } as const;
const isGrouped = (groups: readonly string[]): boolean =>
  groups.every((group, at) => (at === 0 ? /^\d{1,3}$/ : /^\d{3}$/).test(group)) && groups[0] !== '0';

/**
 * Reads a number in which the decimal sign is `decimal`, and the other one of period and comma, spaces or apostrophes
 * separate groups of three digits. Returns undefined if the text is no such number.
 */
function readAs(text: string, decimal: DecimalSign): LocalNumber | undefined {
  const [, sign = '', body = ''] = LOCAL.exec(text) ?? [];
  const [wholePart = '', decimals = '', ...more] = body.split(SIGNS[decimal]);
  if (more.length > 0 || !/^\d*$/.test(decimals) || !/\d/.test(body)) return undefined;
  const separators = new Set(wholePart.match(/[^\d]/g));
  if (separators.size > 1) return undefined;
  const [separator] = separators;
  if (separator !== undefined && !isGrouped(wholePart.split(separator))) return undefined;
  const isLocal = body.includes(SIGNS[decimal]) || separator === '.' || separator === ',';
  return { sign, whole: wholePart.replaceAll(/[^\d]/g, ''), decimals, decimalSign: isLocal ? decimal : undefined };
}

/** Returns the readings of a text as a number, of which there are two if it is ambiguous, such as `1.234`. */
function listReadings(text: string): LocalNumber[] {
  if (text.length > LOCAL_CHARS_MAX) return [];
  const readings = [readAs(text, 'point'), readAs(text, 'comma')].filter((one) => one !== undefined);
  const [first, second] = readings;
  // Without a period and a comma, both readings are the same.
  return first && second && first.decimalSign === undefined ? [first] : readings;
}

const toNumber = ({ sign, whole, decimals }: LocalNumber): number =>
  Number(`${sign}${whole || '0'}.${decimals || '0'}`);

/**
 * Adds a value of a column to the decimal sign that its earlier values show. A value that shows none, such as `7`, or
 * that may have either, such as `1.234`, changes nothing.
 */
export function addDecimalSign(before: ColumnSign | undefined, text: string): ColumnSign | undefined {
  const trimmed = text.trim();
  if (before === 'mixed' || /^[+-]?\d*$/.test(trimmed)) return before;
  const [only, other] = listReadings(trimmed);
  const shown = other ? undefined : only?.decimalSign;
  if (shown === undefined || shown === before) return before;
  return before === undefined ? shown : 'mixed';
}

/**
 * Reads a number of a column that shows this decimal sign. Returns undefined if the text is no number, and 'ambiguous' if
 * it may be two numbers and the column does not tell which. In a column that shows no sign, `1.234` has a decimal point.
 */
export function readLocalNumber(text: string, columnSign: ColumnSign | undefined): number | 'ambiguous' | undefined {
  const trimmed = text.trim();
  const isPlain = PLAIN.test(trimmed);
  if (isPlain && columnSign === undefined) return Number(trimmed);
  const readings = listReadings(trimmed);
  const [only, other] = readings;
  if (only === undefined) return isPlain ? Number(trimmed) : undefined;
  if (other === undefined) return toNumber(only);
  const chosen = readings.find((one) => one.decimalSign === columnSign);
  return chosen ? toNumber(chosen) : 'ambiguous';
}

const WORDS: Readonly<Record<'yes' | 'no', readonly string[]>> = {
  yes: [
    ...['true', 'yes', '1', 'y', 'unsubscribed'],
    ...['ja', 'j', 'wahr'],
    ...['oui', 'vrai'],
    ...['sí', 'si', 'verdadero'],
    ...['sì', 'vero'],
    ...['sim', 'verdadeiro'],
    ...['waar'],
    ...['tak', 'prawda'],
    ...['sant'],
    ...['はい', '真'],
  ],
  no: [
    ...['false', 'no', '0', 'n', 'subscribed'],
    ...['nein', 'falsch'],
    ...['non', 'faux'],
    ...['falso'],
    ...['não', 'nao'],
    ...['nee', 'onwaar'],
    ...['nie', 'fałsz', 'falsz'],
    ...['nej', 'falskt'],
    ...['いいえ', '偽'],
  ],
};
const WORD_CHARS_MAX = 40;
const YES = new Set(WORDS.yes);
const NO = new Set(WORDS.no);

/**
 * Reads yes and no as people write them in English, German, French, Spanish, Italian, Portuguese, Dutch, Polish, Swedish
 * and Japanese, and as spreadsheets in these languages write true and false.
 */
export function readYesNo(text: string): boolean | undefined {
  if (text.length > WORD_CHARS_MAX) return undefined;
  const word = text.trim().normalize('NFC').toLowerCase();
  if (YES.has(word)) return true;
  return NO.has(word) ? false : undefined;
}
