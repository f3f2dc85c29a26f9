/** Longer subjects are compared by their beginning. */
const SUBJECT_CHARS_MAX = 1000;

/** Prefixes of replies. `VS:` is Finnish here; in Danish and Norwegian it marks a forwarded mail. */
const REPLY = [
  're',
  'reply',
  'aw',
  'antw',
  'antwort',
  'sv',
  'svar',
  'vs',
  'vast',
  'antwoord',
  'betr',
  'réf',
  'rép',
  'r',
  'rif',
  'res',
  'resp',
  'odp',
  'odpověď',
  'vá',
  'răsp',
  'răspuns',
  'ynt',
  'yanıt',
  'cvp',
  'απ',
  'σχετ',
  'atb',
  'bls',
  'balas',
  'השב',
  'תגובה',
  'رد',
  'ответ',
  'отв',
  'відп',
  'відповідь',
  'tl',
  'trả lời',
  '回复',
  '答复',
  '回覆',
  '答覆',
  '返信',
  '返',
  '회신',
  '답장',
];

const FORWARD = [
  'fw',
  'fwd',
  'forward',
  'wg',
  'weitergeleitet',
  'vb',
  'vl',
  'lv',
  'doorst',
  'tr',
  'rv',
  'enc',
  'i',
  'inoltra',
  'pd',
  'fs',
  'továbbítás',
  'redirecționat',
  'ilt',
  'i̇lt',
  'πρθ',
  'yml',
  'trs',
  'teruskan',
  'videresendt',
  'ct',
  'chuyển tiếp',
  'הועבר',
  'إعادة توجيه',
  'пересылка',
  'переслано',
  'пер',
  '转发',
  '轉寄',
  '轉發',
  '転送',
  '전달',
];

/** Prefixes of automatic replies. */
const AUTOMATIC = [
  'automatic reply',
  'auto reply',
  'autoreply',
  'auto-reply',
  'out of office',
  'out of office autoreply',
  'out of office reply',
  'automatische antwort',
  'abwesenheitsnotiz',
  'abwesend',
  'réponse automatique',
  'absence du bureau',
  'respuesta automática',
  'risposta automatica',
  'fuori sede',
  'resposta automática',
  'automatisch antwoord',
  'afwezig',
  'autosvar',
  'automatiskt svar',
  'automatisk svar',
  'automaattinen vastaus',
  'odpowiedź automatyczna',
  'automatická odpověď',
  'automatikus válasz',
  'otomatik yanıt',
  'автоответ',
  'автоматический ответ',
  '自动回复',
  '自動回覆',
  '自動返信',
  '自動応答',
  '자동 회신',
];

const joinAlternatives = (words: readonly string[]): string =>
  [...new Set(words.map((word) => word.normalize('NFC').toLowerCase()))].sort((a, b) => b.length - a.length).join('|');

/**
 * `Re:`, `RE[2]:`, `Re(3):`, `Re^2:`, `Re*2:`, with a colon of any width and optional white space before it, as in
 * French.
 */
const behind = String.raw`\s{0,4}(?:\[\d{1,4}\]|\(\d{1,4}\)|[\^*]\d{1,4})?\s{0,4}[:：﹕︰]`;
const REPLY_PREFIX = new RegExp(`^(?:${joinAlternatives(REPLY)})${behind}`, 'u');
const FORWARD_PREFIX = new RegExp(`^(?:${joinAlternatives(FORWARD)})${behind}`, 'u');
const AUTOMATIC_PREFIX = new RegExp(String.raw`^(?:${joinAlternatives(AUTOMATIC)})\s{0,4}[:：﹕︰]`, 'u');
/** Matches only the whole subject, or the beginning of a sentence of its own. */
const AUTOMATIC_ALONE = new RegExp(String.raw`^(?:${joinAlternatives(AUTOMATIC)})(?:$|\s?[-–(])`, 'u');
/** Tags that a list or a filter puts before a subject: `[list]`, `{Spam?}`, `***SPAM***`. */
const TAG = /^(?:\[[^[\]]{1,80}\]|【[^【】]{1,80}】|\{[^{}]{1,80}\}|\*{2,5}[^*]{1,40}\*{2,5})/u;
const PREFIXES = [
  ['automatic', AUTOMATIC_PREFIX],
  ['reply', REPLY_PREFIX],
  ['forward', FORWARD_PREFIX],
  ['tag', TAG],
] as const;
const TAG_WITH_NUMBER = /\d/;
/** RFC 5256 §2.1. */
const TRAILER = /\s*\((?:fwd|fw)\)$/u;
/** Invisible characters, by which two subjects that look alike would differ. */
const UNSEEN = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]+/gu;

/** The same prefixes for an original subject, in any letter case. */
export const SUBJECT_PREFIXES = {
  automatic: new RegExp(AUTOMATIC_PREFIX.source, 'iu'),
  reply: new RegExp(REPLY_PREFIX.source, 'iu'),
  forward: new RegExp(FORWARD_PREFIX.source, 'iu'),
};

export interface SubjectRead {
  /** The subject without any prefixes, in the form in which subjects are compared. */
  base: string;
  /** Same as `base`, but with the numbers in brackets, which distinguish one ticket or order from another. */
  baseWithNumbers: string;
  isReply: boolean;
  isForward: boolean;
  /** The prefix of an automatic reply was present. */
  isAutomatic: boolean;
}

/** Splits a subject into its base and the kinds of prefixes that it had. */
export function readSubject(subject: string): SubjectRead {
  let rest = comparable(subject);
  const numbers = new Set<string>();
  const found = { isReply: false, isForward: false, isAutomatic: false };
  for (let length = -1; rest.length !== length;) {
    length = rest.length;
    const { text, kind } = matchPrefix(rest);
    if (kind === 'tag' && TAG_WITH_NUMBER.test(text)) numbers.add(text);
    if (kind === 'reply' || kind === 'automatic') found.isReply = true;
    if (kind === 'automatic') found.isAutomatic = true;
    if (kind === 'forward') found.isForward = true;
    rest = rest.slice(text.length).trimStart().replace(TRAILER, '');
  }
  const isAutomatic = found.isAutomatic || AUTOMATIC_ALONE.test(rest);
  return { base: rest, baseWithNumbers: [...numbers, rest].join(' '), ...found, isAutomatic };
}

function matchPrefix(rest: string): { text: string; kind: 'automatic' | 'reply' | 'forward' | 'tag' | 'none' } {
  for (const [kind, pattern] of PREFIXES) {
    const text = pattern.exec(rest)?.[0];
    // A subject may consist of a tag alone.
    if (text !== undefined && (kind !== 'tag' || text.length < rest.length)) return { text, kind };
  }
  return { text: '', kind: 'none' };
}

/** Folds letter case, character width and blanks. */
const comparable = (subject: string): string =>
  subject
    .slice(0, SUBJECT_CHARS_MAX)
    .toWellFormed()
    .normalize('NFKC')
    .replaceAll(UNSEEN, ' ')
    .replaceAll(/\s+/gu, ' ')
    .toLowerCase()
    .normalize('NFC')
    .trim();
