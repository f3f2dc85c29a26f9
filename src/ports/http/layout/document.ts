import { escapeHtml } from '../../../protocol/safe-html/index.ts';

export const documentStart = (title: string, style: string): string => `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark"><meta name="robots" content="noindex, nofollow">
<title>${escapeHtml(title)}</title><style>${style}</style></head>
<body>`;

export const documentEnd = `</body></html>
`;

/** The page around its content; `content` is HTML already. */
export const renderDocument = (title: string, content: string, style: string): string =>
  documentStart(title, style) + content + documentEnd;

/** Text of others, isolated because it may run in either direction. */
export const bdi = (text: string): string => `<bdi>${escapeHtml(text)}</bdi>`;
