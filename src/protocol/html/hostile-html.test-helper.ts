import fc from 'fast-check';

const piece = fc.oneof(
  fc.constantFrom(...'< > / " \' = - ! ? a x & ;'.split(' '), ' ', '\n', '\r\n', '\0', '\u212a'),
  fc.constantFrom(
    '<!--',
    '-->',
    '--!>',
    '<!-->',
    '</',
    '<![CDATA[',
    ']]>',
    '<?',
    '<!doctype html>',
    '<p ',
    '<p title="',
    '</br>',
    '<font color="red">',
    '<template>',
    '</template>',
  ),
  fc.constantFrom(
    ...'script style title textarea xmp iframe noembed noframes plaintext noscript svg math mi desc foreignObject div span p b g a table td'
      .split(' ')
      .flatMap((name) => [`<${name}>`, `</${name}>`]),
  ),
);
/** Generates pieces that decide how HTML is read, in any order. */
export const someHtml = fc.array(piece, { maxLength: 20 }).map((pieces) => pieces.join(''));
export const RUNS = { numRuns: 20 * (fc.readConfigureGlobal()?.numRuns ?? 100) };
