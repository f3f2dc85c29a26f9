import { shown } from './shown.ts';

const SMART_QUOTES = /[\u2018-\u201f\u00ab\u00bb\u2033]/;
const ODD_BLANKS = /[\u00a0\u2000-\u200d\u202f\u2060\u3000\ufeff]/g;

/**
 * What a panel or a word processor did to a text that would be right without it, as the middle of a sentence; undefined
 * if the text is wrong for another reason.
 */
export function shapeFault(text: string, isRight: (text: string) => boolean): string | undefined {
  for (const { said, repair } of REPAIRS) {
    const repaired = repair(text);
    if (repaired !== text && isRight(repaired)) return said(text);
  }
  return undefined;
}

interface Repair {
  said: (text: string) => string;
  repair: (text: string) => string;
}

const straight = (text: string): string => text.replaceAll(new RegExp(SMART_QUOTES, 'g'), '"').replaceAll(/["'`]/g, '');
const unescaped = (text: string): string => text.replaceAll(/\\([;"\s=])/g, '$1').replaceAll('\\', '');

/** From the lightest to all at once: the first that helps names the mistake. */
const REPAIRS: readonly Repair[] = [
  {
    said: (text) =>
      `has a blank ${/^\s/.test(text) ? 'before its first' : 'after its last'} character; take the blank away`,
    repair: (text) => text.trim(),
  },
  {
    said: () => 'has typographic quotation marks in it, as word processors make them; enter the value without any',
    repair: (text) => (SMART_QUOTES.test(text) ? straight(text).trim() : text),
  },
  {
    said: () =>
      'has quotation marks inside the text where the value was split; enter it in one piece without quotation marks, and the DNS host splits it',
    repair: (text) =>
      /["'`]\s*["'`]/.test(text.slice(1, -1)) ? straight(text.replaceAll(/["'`]\s+["'`]/g, '')).trim() : text,
  },
  {
    said: () => 'has quotation marks that are part of the text; enter the value without them',
    repair: (text) => straight(text).trim(),
  },
  {
    said: () => 'has backslashes in it, which this DNS host does not take for escapes; enter the value without them',
    repair: unescaped,
  },
  {
    said: (text) => `is a whole line of a zone file (${shown(text, 30)}); enter only what stands behind TXT`,
    repair: (text) => straight(text.replace(/^.{0,300}?\sTXT\s+/is, '')).trim(),
  },
  {
    said: () =>
      'has invisible or unusual blanks in it, as copying from a web page makes them; type or paste it as plain text',
    repair: (text) => text.replaceAll(ODD_BLANKS, ' ').replaceAll(/\s+/g, ' ').trim(),
  },
  {
    said: () => 'has quotation marks or backslashes in it that are part of the text; enter the value without them',
    repair: (text) =>
      unescaped(straight(text.replaceAll(ODD_BLANKS, ' ')))
        .replaceAll(/\s+/g, ' ')
        .trim(),
  },
];
