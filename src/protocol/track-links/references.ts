// HTML §13.5: the references that browsers also take without a semicolon are Latin-1 from U+00A0 on, and these few.
const LATIN1 =
  'nbsp iexcl cent pound curren yen brvbar sect uml copy ordf laquo not shy reg macr deg plusmn sup2 sup3 acute micro ' +
  'para middot cedil sup1 ordm raquo frac14 frac12 frac34 iquest Agrave Aacute Acirc Atilde Auml Aring AElig Ccedil ' +
  'Egrave Eacute Ecirc Euml Igrave Iacute Icirc Iuml ETH Ntilde Ograve Oacute Ocirc Otilde Ouml times Oslash Ugrave ' +
  'Uacute Ucirc Uuml Yacute THORN szlig agrave aacute acirc atilde auml aring aelig ccedil egrave eacute ecirc euml ' +
  'igrave iacute icirc iuml eth ntilde ograve oacute ocirc otilde ouml divide oslash ugrave uacute ucirc uuml yacute ' +
  'thorn yuml';
const LATIN1_FROM = 0xa0;

const ALSO_WITHOUT_SEMICOLON = new Map([
  ...LATIN1.split(' ').map((name, at): [string, string] => [name, String.fromCharCode(LATIN1_FROM + at)]),
  ...Object.entries({ amp: '&', AMP: '&', lt: '<', LT: '<', gt: '>', GT: '>', quot: '"', QUOT: '"' }),
  ...Object.entries({ COPY: '©', REG: '®' }),
]);
const WITH_SEMICOLON = new Map([
  ...ALSO_WITHOUT_SEMICOLON,
  ...Object.entries({ apos: "'", colon: ':', sol: '/', quest: '?', equals: '=', num: '#', percnt: '%', period: '.' }),
  // The rest of what stands for ASCII: an address whose scheme is written with these is read as browsers read it.
  ...Object.entries({ Tab: '\t', NewLine: '\n', excl: '!', dollar: '$', lpar: '(', rpar: ')', ast: '*', midast: '*' }),
  ...Object.entries({ plus: '+', comma: ',', semi: ';', commat: '@', lsqb: '[', lbrack: '[', bsol: '\\', rsqb: ']' }),
  ...Object.entries({ rbrack: ']', Hat: '^', lowbar: '_', UnderBar: '_', grave: '`', DiacriticalGrave: '`' }),
  ...Object.entries({ lcub: '{', lbrace: '{', verbar: '|', vert: '|', VerticalLine: '|', rcub: '}', rbrace: '}' }),
]);

const REFERENCE = /&(?:#(?:[xX]([0-9a-fA-F]+)|([0-9]+));?|([A-Za-z][A-Za-z0-9]*)([;=]?))/g;

/**
 * The text that an attribute's value stands for, or undefined where it has a named reference that is not known here:
 * a link that might be read wrong is better left alone.
 */
export function decodeReferences(value: string): string | undefined {
  const { text, isWhole } = decodeKnownReferences(value);
  return isWhole ? text : undefined;
}

/** The same with references that are not known here left as they stand; `isWhole` where there is none. */
export function decodeKnownReferences(value: string): { text: string; isWhole: boolean } {
  if (!value.includes('&')) return { text: value, isWhole: true };
  let isWhole = true;
  const text = value.replace(REFERENCE, (whole, hex?: string, decimal?: string, name?: string, next?: string) => {
    if (name === undefined) return characterOf(hex === undefined ? parseInt(decimal ?? '') : parseInt(hex, 16));
    if (next === ';') {
      isWhole &&= WITH_SEMICOLON.has(name);
      return WITH_SEMICOLON.get(name) ?? whole;
    }
    // HTML §13.2.5.73: before "=" it is the name of a parameter, as in "?a=1&copy=2".
    return next === '=' ? whole : (ALSO_WITHOUT_SEMICOLON.get(name) ?? whole);
  });
  return { text, isWhole };
}

const windows1252 = new TextDecoder('windows-1252');

/** HTML §13.2.5.80. */
function characterOf(code: number): string {
  const isSurrogate = code >= 0xd800 && code <= 0xdfff;
  if (code === 0 || isSurrogate || !(code <= 0x10ffff)) return '\uFFFD';
  if (code >= 0x80 && code <= 0x9f) return windows1252.decode(Uint8Array.of(code));
  return String.fromCodePoint(code);
}

/** For a value in quotes of either kind, and for one without. */
export const encodeReferences = (text: string): string =>
  text.replace(/[&"'<>`=\s]/g, (character) => (character === '&' ? '&amp;' : `&#${character.charCodeAt(0)};`));
