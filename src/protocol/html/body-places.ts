import { HtmlTokenizer } from './tokenizer.ts';

/** Returns the position for content that is to be shown after everything else: before the last `</body>` or at the end. */
export function endOfBody(html: string): number {
  const tokens = new HtmlTokenizer(html);
  let bodyEnd: number | undefined;
  for (let kind = tokens.next(); kind !== 'end'; kind = tokens.next()) {
    if (kind === 'end tag' && tokens.name === 'body') bodyEnd = tokens.start;
  }
  return bodyEnd ?? tokens.openAt;
}

/**
 * Returns the position for content that is to be shown before everything else: after the first `<body>`, or else after
 * `</head>`, or after what may precede a head.
 */
export function startOfBody(html: string): number {
  const tokens = new HtmlTokenizer(html);
  let headEnd: number | undefined;
  let start = 0;
  let isAtStart = true;
  for (let kind = tokens.next(); kind !== 'end'; kind = tokens.next()) {
    if (kind === 'start tag' && tokens.name === 'body') return tokens.end;
    if (kind === 'end tag' && tokens.name === 'head') headEnd ??= tokens.end;
    isAtStart &&= standsBeforeHead(kind, tokens);
    if (isAtStart) start = tokens.end;
  }
  return headEnd ?? start;
}

function standsBeforeHead(kind: string, tokens: HtmlTokenizer): boolean {
  if (kind === 'text') return tokens.html.slice(tokens.start, tokens.end).trim() === '';
  return kind === 'declaration' || (kind === 'start tag' && tokens.name === 'html');
}
