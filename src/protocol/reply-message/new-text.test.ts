import { describe, expect, it } from 'vitest';
import { extractNewText, quoteBelow } from './index.ts';

const lines = (...all: string[]): string => all.join('\r\n');

const texts: [name: string, text: string][] = [
  [
    'Gmail',
    lines(
      'Works now.',
      '',
      'On Fri, Nov 20, 2026 at 12:00 PM Ann <ann@home.example> wrote:',
      '',
      '> Try again.',
      '> > It burns.',
    ),
  ],
  [
    'Gmail, folded',
    lines(
      'Works now.',
      '',
      'On Fri, Nov 20, 2026 at 12:00 PM Ann the Long-Named',
      '<ann@home.example> wrote:',
      '',
      '> Try again.',
    ),
  ],
  [
    'Apple Mail',
    lines('Works now.', '', '> On 20. Nov 2026, at 12:00, Ann <ann@home.example> wrote:', '> ', '> Try again.'),
  ],
  [
    'iPhone',
    lines(
      'Works now.',
      '',
      'Sent from my iPhone',
      '',
      '> On Nov 20, 2026, at 12:00, Ann <ann@home.example> wrote:',
      '> ',
      '> Try',
    ),
  ],
  ['Thunderbird', lines('Works now.', '', 'On 20/11/2026 12:00, Ann wrote:', '> Try again.')],
  ['Thunderbird in German', lines('Works now.', '', 'Am 20.11.26 um 12:00 schrieb Ann:', '> Noch einmal.')],
  [
    'Outlook',
    lines(
      'Works now.',
      '',
      'From: Ann <ann@home.example>',
      'Sent: Friday, November 20, 2026 12:00 PM',
      'To: Support',
      'Subject: Printer',
      '',
      'Try again.',
    ),
  ],
  [
    'Outlook with a line',
    lines(
      'Works now.',
      '________________________________',
      'From: Ann <ann@home.example>',
      'Sent: Friday',
      '',
      'Try again.',
    ),
  ],
  [
    'Outlook in German',
    lines(
      'Works now.',
      '',
      'Von: Ann <ann@home.example>',
      'Gesendet: Freitag, 20. November 2026',
      'An: Support',
      'Betreff: Drucker',
      '',
      'Noch',
    ),
  ],
  [
    'Outlook in French',
    lines(
      'Works now.',
      '',
      'De : Ann <ann@home.example>',
      'Envoyé : vendredi 20 novembre',
      'À : Support',
      '',
      'Encore',
    ),
  ],
  ['Outlook in Chinese', lines('Works now.', '', '发件人： Ann', '发送时间： 2026年11月20日', '', '再试')],
  ['Outlook of before', lines('Works now.', '', '-----Original Message-----', 'From: Ann', '', 'Try again.')],
  ['Outlook of before in German', lines('Works now.', '-----Ursprüngliche Nachricht-----', 'Von: Ann', 'Noch einmal.')],
  [
    'Outlook on a telephone',
    lines(
      'Works now.',
      '',
      'Get Outlook for iOS',
      '________________________________',
      'From: Ann',
      'Sent: Friday',
      'Try',
    ),
  ],
  [
    'Yahoo',
    lines(
      'Works now.',
      '',
      '  On Friday, November 20, 2026 at 12:00:00 PM GMT+1, Ann <ann@home.example> wrote:',
      '',
      ' Try again.',
    ),
  ],
  [
    'Proton',
    lines(
      'Works now.',
      '',
      'Sent with Proton Mail secure email.',
      '',
      'On Friday, November 20th, 2026 at 12:00, Ann <ann@home.example> wrote:',
      '',
      '> Try again.',
    ),
  ],
  [
    'GMX',
    lines(
      'Works now.',
      '',
      'Gesendet: Freitag, 20. November 2026 um 12:00 Uhr',
      'Von: "Ann" <ann@home.example>',
      'An: support',
      '',
      'x',
    ),
  ],
  ['French', lines('Works now.', '', 'Le ven. 20 nov. 2026 à 12:00, Ann <ann@home.example> a écrit :', '', '> Encore')],
  [
    'Spanish',
    lines('Works now.', '', 'El vie, 20 nov 2026 a las 12:00, Ann (<ann@home.example>) escribió:', '', '> Otra vez'),
  ],
  [
    'Italian',
    lines('Works now.', '', 'Il giorno ven 20 nov 2026 alle ore 12:00 Ann <ann@home.example> ha scritto:', '> Ancora'),
  ],
  [
    'Portuguese',
    lines('Works now.', '', 'Em sex., 20 de nov. de 2026 às 12:00, Ann <ann@home.example> escreveu:', '> De novo'),
  ],
  ['Dutch', lines('Works now.', '', 'Op vr 20 nov 2026 om 12:00 schreef Ann <ann@home.example>:', '> Nog eens')],
  ['Polish', lines('Works now.', '', 'pt., 20 lis 2026 o 12:00 Ann <ann@home.example> napisał(a):', '> Jeszcze raz')],
  ['Swedish', lines('Works now.', '', 'Den fre 20 nov. 2026 kl 12:00 skrev Ann <ann@home.example>:', '> Igen')],
  [
    'Russian',
    lines(
      'Works now.',
      '',
      'пт, 20 нояб. 2026 г. в 12:00, Ann <ann@home.example>:'.replace('>:', '> пишет:'),
      '> Ещё раз',
    ),
  ],
  ['Chinese', lines('Works now.', '', 'Ann <ann@home.example> 于2026年11月20日周五 12:00写道：', '> 再试')],
  ['Japanese', lines('Works now.', '', '2026年11月20日(金) 12:00 Ann <ann@home.example>:', '> もう一度')],
  ['Korean', lines('Works now.', '', '2026년 11월 20일 (금) 오후 12:00, Ann <ann@home.example>님이 작성:', '> 다시')],
  ['a signature', lines('Works now.', '', '-- ', 'Ann', 'Home Ltd.')],
  [
    'a signature whose blank was taken, before a quote',
    lines('Works now.', '--', 'Ann', '', 'On 1 May 2026 Bob wrote:', '> x'),
  ],
  [
    'our own reply',
    quoteBelow(
      { text: 'Works now.', html: null },
      { from: 'Ann <a@b.example>', to: [], cc: [], subject: '', at: new Date(0), text: 'x\n\ny', html: null },
      'Shop',
    ).text!,
  ],
];

describe('the new text of a reply', () => {
  it.each(texts)('is separated from the quote of %s', (_name, text) => {
    expect(extractNewText({ text, html: null })).toBe('Works now.');
  });

  it.each([
    [
      'Gmail',
      '<div>Works now.</div><div class="gmail_quote gmail_quote_container"><div class="gmail_attr">On Fri</div><blockquote>x</blockquote></div>',
    ],
    [
      'Thunderbird',
      '<p>Works now.</p><div class="moz-cite-prefix">On 20/11</div><blockquote type="cite">x</blockquote>',
    ],
    ['Apple Mail', '<div>Works now.</div><blockquote type="cite"><div>x</div></blockquote>'],
    [
      'Outlook on the web',
      '<div>Works now.</div><div id="appendonsend"></div><hr><div id="divRplyFwdMsg"><b>From:</b> Ann</div><div>x</div>',
    ],
    ['Yahoo', '<div>Works now.</div><div id="yahoo_quoted_123" class="yahoo_quoted"><div>x</div></div>'],
    ['Proton', '<div>Works now.</div><div class="protonmail_quote">x</div>'],
    [
      'Outlook at a desk',
      '<p>Works now.</p><div style="border-top:solid"><p><b>From:</b> Ann<br><b>Sent:</b> Friday<br><b>To:</b> Us</p></div><p>x</p>',
    ],
  ])('is separated from the quote of %s in HTML', (_name, html) => {
    expect(extractNewText({ text: null, html })).toBe('Works now.');
  });

  it('includes every answer between the lines of a quote', () => {
    const text = lines('Hello,', 'On 1 May 2026 Bob wrote:', '> One?', 'Yes.', '', '> Two?', 'No.', '-- ', 'Ann');
    expect(extractNewText({ text, html: null })).toBe('Hello,\nYes.\n\nNo.');
  });

  it.each([
    ['a sentence with a colon', 'On Monday I wrote:\nDear all'],
    ['a letter that names somebody', 'From: the bottom of my heart\nThank you'],
    ['a line of a table', '------\nTotal: 5'],
    ['two dashes in a text', 'A -- B\n-- C'],
    ['a sent thing', 'I sent from my office the keys.'],
    ['a quote alone', '> Try again.'],
    ['nothing', ''],
  ])('is the whole text of %s', (_name, text) => {
    expect(extractNewText({ text, html: null })).toBe(text);
  });

  it.each([
    'On 1 wrote: ',
    'op 1 schreef schreef schreef ',
    '>',
    '-- \n',
    'From: a\n',
    '<div class="',
    'On 1\n',
    '\n',
    '_',
    '<blockquote type=',
    ' ',
  ])('is read to the end of a megabyte of %j', (piece) => {
    // Quadratic work would take minutes, which is longer than a test may take.
    const long = piece.repeat(1_000_000 / piece.length);
    for (const one of [extractNewText({ text: long, html: null }), extractNewText({ text: null, html: long })]) {
      expect((one ?? '').length).toBeLessThanOrEqual(long.length);
    }
  });
});
