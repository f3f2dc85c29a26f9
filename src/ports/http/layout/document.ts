import { escapeHtml } from '../../../protocol/safe-html/index.ts';
import { createHash } from 'node:crypto';

/** Tells search engines to leave a page out. */
const NOT_INDEXED = '<meta name="robots" content="noindex, nofollow">';

export const documentStart = (
  title: string,
  style: string,
  language = 'en',
  isIndexed = false,
): string => `<!doctype html>
<html lang="${language}"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">${isIndexed ? '' : NOT_INDEXED}
<title>${escapeHtml(title)}</title><style>${style}</style></head>
<body>`;

export const documentEnd = `</body></html>
`;

/** Renders a page around its content; `content` is HTML already. */
export const renderDocument = (
  title: string,
  content: string,
  style: string,
  language = 'en',
  isIndexed = false,
): string => documentStart(title, style, language, isIndexed) + content + documentEnd;

/** Isolates text of other people, because it may run in either direction. */
export const bdi = (text: string): string => `<bdi>${escapeHtml(text)}</bdi>`;

/** Colors of all pages. `edge` is dark enough to mark a field; `line` only separates. */
const COLOURS = `
:root{color-scheme:light dark;--ground:#f6f7f9;--card:#fff;--ink:#1b1f24;--quiet:#57606a;--line:#d8dee4;--edge:#8c959f;--accent:#0b57d0;--on-accent:#fff;--bad:#b3261e}
@media (prefers-color-scheme:dark){:root{--ground:#0f1216;--card:#181c22;--ink:#e6e9ee;--quiet:#9aa4b0;--line:#2d333b;--edge:#6e7681;--accent:#8ab4f8;--on-accent:#0f1216;--bad:#f2b8b5}}
*{box-sizing:border-box}
a{color:var(--accent)}
dd{margin:0}`;

/** Style of pages to read, such as mail as it was sent. */
export const readingStyle = `${COLOURS}
body{margin:0 auto;padding:1.5rem 1rem 3rem;max-width:60rem;background:var(--ground);color:var(--ink);font:1rem/1.5 system-ui,sans-serif;overflow-wrap:anywhere}
header,main{background:var(--card);border:1px solid var(--line);border-radius:.5rem;padding:1.25rem;margin-bottom:1rem}
h1{font-size:1.4rem;line-height:1.3;margin:0 0 1rem}
h2{font-size:1rem;margin:1rem 0 .25rem}
dl{margin:0;display:grid;gap:.25rem}
dl div{display:grid;grid-template-columns:7rem 1fr;gap:.5rem}
dt,.quiet,footer{color:var(--quiet)}
ul,ol{margin:.25rem 0;padding-left:1.5rem}
section p{margin:.25rem 0 0}
a:focus-visible,summary:focus-visible,iframe:focus-visible{outline:2px solid var(--accent);outline-offset:2px}
.notice{margin:0 0 1rem;padding:.75rem 1rem;border:1px solid var(--line);border-radius:.375rem;background:var(--ground)}
.frame{height:75vh;min-height:20rem;resize:vertical;overflow:hidden;border:1px solid var(--line);border-radius:.375rem;background:#fff}
iframe{display:block;width:100%;height:100%;border:0;background:#fff}
pre{margin:0;white-space:pre-wrap;overflow-wrap:anywhere;font:.9375rem/1.5 ui-monospace,monospace}
details{margin-top:1rem}
summary{cursor:pointer}
details pre{margin-top:.5rem}
footer{font-size:.875rem}
@media (max-width:32rem){dl div{grid-template-columns:1fr;gap:0}}
@media print{.frame{height:auto;border:0}iframe{height:100vh}}
`;

/** Style of pages with forms: one card with one thing to do. */
export const formStyle = `${COLOURS}
body{margin:0 auto;padding:1.5rem 1rem 3rem;max-width:38rem;background:var(--ground);color:var(--ink);font:1.0625rem/1.55 system-ui,sans-serif;overflow-wrap:anywhere}
main{background:var(--card);border:1px solid var(--edge);border-radius:.5rem;padding:1.5rem}
h1{font-size:1.5rem;line-height:1.25;margin:0 0 1rem}
h2{font-size:1.125rem;margin:2rem 0 .5rem}
p{margin:0 0 1rem}
fieldset{border:0;margin:0 0 1rem;padding:0}
legend{padding:0;margin:0 0 .5rem}
.topic{display:grid;grid-template-columns:1.5rem 1fr;gap:0 .75rem;padding:.5rem 0}
.topic input{width:1.25rem;height:1.25rem;margin:.2rem 0 0;accent-color:var(--accent)}
.topic label{font-weight:600}
.topic span{grid-column:2;color:var(--quiet)}
.field{margin:0 0 1.25rem}
.field label{display:block;font-weight:600;margin:0 0 .25rem}
.field input{display:block;width:100%;min-height:2.75rem;padding:.5rem .75rem;border:1px solid var(--edge);border-radius:.375rem;background:var(--card);color:var(--ink);font:inherit}
.field textarea{display:block;width:100%;padding:.5rem .75rem;border:1px solid var(--edge);border-radius:.375rem;background:var(--card);color:var(--ink);font:inherit}
.field select{display:block;width:100%;min-height:2.75rem;padding:.5rem .75rem;border:1px solid var(--edge);border-radius:.375rem;background:var(--card);color:var(--ink);font:inherit}
.choice input{display:inline-block;width:1.25rem;min-height:1.25rem;margin:0 .5rem 0 0;vertical-align:middle}
.choice label{display:inline;margin:0}
.field input[aria-invalid],.field textarea[aria-invalid]{border:2px solid var(--bad)}
.hint,.quiet{color:var(--quiet)}
.hint,.fault{display:block;margin:.25rem 0 0;font-size:.9375rem}
.fault{color:var(--bad);font-weight:600}
button{font:inherit;font-weight:600;min-height:2.75rem;padding:.5rem 1.25rem;border:1px solid var(--accent);border-radius:.375rem;background:var(--accent);color:var(--on-accent);cursor:pointer}
button.second{background:var(--card);color:var(--accent)}
a:focus-visible,button:focus-visible,input:focus-visible,textarea:focus-visible,[tabindex]:focus-visible{outline:3px solid var(--accent);outline-offset:3px}
.status,.alert{margin:0 0 1rem;padding:.75rem 1rem;border-left:.25rem solid var(--accent);background:var(--ground)}
.alert{border-left-color:var(--bad)}
.links{margin:1.5rem 0 0}
.rows{list-style:none;margin:0 0 1rem;padding:0;border-top:1px solid var(--line)}
.rows li{display:flex;flex-wrap:wrap;gap:.5rem 1rem;align-items:center;justify-content:space-between;padding:.75rem 0;border-bottom:1px solid var(--line)}
.rows li>div{flex:1 1 16rem}
dl{margin:0 0 1rem}
dl div{display:grid;grid-template-columns:10rem 1fr;gap:.25rem 1rem;padding:.25rem 0}
dt{color:var(--quiet)}
code,.codes{font:1rem/1.6 ui-monospace,monospace;overflow-wrap:anywhere}
.qr{display:block;max-width:100%;height:auto;margin:0 0 1rem;border-radius:.375rem}
.codes{list-style:none;margin:0 0 1rem;padding:.75rem 1rem;background:var(--ground);columns:2}
footer{margin:1.5rem .25rem 0;color:var(--quiet);font-size:.9375rem}
address{font-style:normal}
.decisions{position:sticky;top:0;z-index:1;display:flex;gap:.75rem;padding:.75rem 0;background:var(--card);border-bottom:1px solid var(--line)}
.decisions button{flex:1 1 8rem;width:auto}
.decisions~* input,.decisions~* select{scroll-margin-top:6rem}
.scope label{font-weight:400}
.scope code{font-size:.875rem}
@media (max-width:32rem){main{padding:1.25rem 1rem}button{width:100%}dl div{grid-template-columns:1fr;gap:0}.codes{columns:1}}
`;

/** Returns the source expression by which a Content-Security-Policy allows an inline style. */
export const hashStyle = (style: string): string => `'sha256-${createHash('sha256').update(style).digest('base64')}'`;
