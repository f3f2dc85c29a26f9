import { createHash } from 'node:crypto';
import { escapeHtml } from '../../protocol/safe-html/index.ts';
import { privatePageHeaders } from '../private-page-headers.ts';

const style = `
:root{color-scheme:light dark;--ground:#f6f7f9;--card:#fff;--ink:#1b1f24;--quiet:#57606a;--line:#8c959f;--accent:#0b57d0;--on-accent:#fff}
@media (prefers-color-scheme:dark){:root{--ground:#0f1216;--card:#181c22;--ink:#e6e9ee;--quiet:#9aa4b0;--line:#6e7681;--accent:#8ab4f8;--on-accent:#0f1216}}
*{box-sizing:border-box}
body{margin:0 auto;padding:1.5rem 1rem 3rem;max-width:38rem;background:var(--ground);color:var(--ink);font:1.0625rem/1.55 system-ui,sans-serif;overflow-wrap:anywhere}
main{background:var(--card);border:1px solid var(--line);border-radius:.5rem;padding:1.5rem}
h1{font-size:1.5rem;line-height:1.25;margin:0 0 1rem}
h2{font-size:1.125rem;margin:2rem 0 .5rem}
p{margin:0 0 1rem}
fieldset{border:0;margin:0 0 1rem;padding:0}
legend{padding:0;margin:0 0 .5rem}
.topic{display:grid;grid-template-columns:1.5rem 1fr;gap:0 .75rem;padding:.5rem 0}
.topic input{width:1.25rem;height:1.25rem;margin:.2rem 0 0;accent-color:var(--accent)}
.topic label{font-weight:600}
.topic span{grid-column:2;color:var(--quiet)}
button{font:inherit;font-weight:600;min-height:2.75rem;padding:.5rem 1.25rem;border:1px solid var(--accent);border-radius:.375rem;background:var(--accent);color:var(--on-accent);cursor:pointer}
button.second{background:var(--card);color:var(--accent)}
a{color:var(--accent)}
a:focus-visible,button:focus-visible,input:focus-visible{outline:3px solid var(--accent);outline-offset:3px}
.status{margin:0 0 1rem;padding:.75rem 1rem;border-left:.25rem solid var(--accent);background:var(--ground)}
.links{margin:1.5rem 0 0}
footer{margin:1.5rem .25rem 0;color:var(--quiet);font-size:.9375rem}
address{font-style:normal}
@media (max-width:32rem){main{padding:1.25rem 1rem}button{width:100%}}
`;

const STYLE_HASH = `sha256-${createHash('sha256').update(style).digest('base64')}`;

/** `form-action` allows the page's own host alone, so a scanner that follows a form goes nowhere else. */
export const preferencePageHeaders = {
  ...privatePageHeaders(`default-src 'none'; style-src '${STYLE_HASH}'; base-uri 'none'; form-action 'self'`),
  'content-type': 'text/html; charset=utf-8',
};

/** `main` and `footer` are HTML already. */
export const renderPage = (title: string, main: string, footer = ''): string => `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark"><meta name="robots" content="noindex, nofollow">
<title>${escapeHtml(title)}</title><style>${style}</style></head>
<body><main><h1>${bdi(title)}</h1>
${main}</main>${footer === '' ? '' : `\n<footer>${footer}</footer>`}</body></html>
`;

/** Text of others, isolated because it may run in either direction. */
export const bdi = (text: string): string => `<bdi>${escapeHtml(text)}</bdi>`;
