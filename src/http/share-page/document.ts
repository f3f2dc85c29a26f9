import { escapeHtml } from '../../protocol/safe-html/index.ts';

/** The page around its content; `content` is HTML already. */
export const renderDocument = (title: string, content: string): string =>
  renderDocumentStart(title) + content + DOCUMENT_END;

export const renderDocumentStart = (title: string): string => `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark"><meta name="robots" content="noindex, nofollow">
<title>${escapeHtml(title)}</title><style>${style}</style></head>
<body>`;

export const DOCUMENT_END = `</body></html>
`;

const style = `
:root{color-scheme:light dark;--ground:#f6f7f9;--card:#fff;--ink:#1b1f24;--quiet:#57606a;--line:#d8dee4;--accent:#0b57d0}
@media (prefers-color-scheme:dark){:root{--ground:#0f1216;--card:#181c22;--ink:#e6e9ee;--quiet:#9aa4b0;--line:#2d333b;--accent:#8ab4f8}}
*{box-sizing:border-box}
body{margin:0 auto;padding:1.5rem 1rem 3rem;max-width:60rem;background:var(--ground);color:var(--ink);font:1rem/1.5 system-ui,sans-serif;overflow-wrap:anywhere}
header,main{background:var(--card);border:1px solid var(--line);border-radius:.5rem;padding:1.25rem;margin-bottom:1rem}
h1{font-size:1.4rem;line-height:1.3;margin:0 0 1rem}
h2{font-size:1rem;margin:1rem 0 .25rem}
dl{margin:0;display:grid;gap:.25rem}
dl div{display:grid;grid-template-columns:7rem 1fr;gap:.5rem}
dt,.quiet,footer{color:var(--quiet)}
dd{margin:0}
ul,ol{margin:.25rem 0;padding-left:1.5rem}
section p{margin:.25rem 0 0}
a{color:var(--accent)}
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
