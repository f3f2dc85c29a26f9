import type { AnswerOf } from '../../client/index.ts';
import { buildCall } from '../../input/index.ts';
import type { Session } from '../declare.ts';
import { prepare, printResponse, type Call } from '../run-action.ts';
import { mkdtemp, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { openInBrowser } from '../../output/index.ts';

/**
 * Returns a page that shows the mail in a frame without any permission, and under a policy that also applies to the
 * frame: no script runs, no form is sent, and nothing but pictures, styles and fonts is loaded; browsers also follow
 * prefetch hints, which are never used. The author of the mail need not be trusted.
 */
export function previewPage({
  subject,
  from,
  to,
  preview_text: preview,
  html,
  text,
}: AnswerOf<'previewBroadcast'>): string {
  const policy =
    "default-src 'none'; img-src http: https: data:; style-src 'unsafe-inline' http: https:; font-src http: https: data:; form-action 'none'; base-uri 'none'";
  const mail = html === null ? undefined : withoutMoves(html);
  const shown = mail ?? `<pre style="white-space:pre-wrap">${escaped(text ?? '')}</pre>`;
  const lines = [`From: ${from}`, `To: ${to}`, ...(preview === null ? [] : [`Preview: ${preview}`])];
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta http-equiv="Content-Security-Policy" content="${escaped(policy)}">
<meta name="referrer" content="no-referrer"><title>${escaped(subject)}</title>
<style>body{margin:0;font:1rem/1.5 system-ui,sans-serif}header{padding:.75rem 1rem;border-bottom:1px solid #ccc}h1{font-size:1.125rem;margin:0}iframe{border:0;width:100%;height:calc(100vh - 9rem)}</style></head>
<body><header><h1>${escaped(subject)}</h1>${lines.map((line) => `<div>${escaped(line)}</div>`).join('')}</header>
<iframe sandbox title="The mail" srcdoc="${escaped(shown)}"></iframe></body></html>
`;
}

/**
 * Removes everything from the mail that navigates the frame by itself, and addresses that are code. The sandbox
 * prevents both; a browser without a sandbox, or a page that is saved and opened otherwise, gets none of it.
 */
const withoutMoves = (html: string): string =>
  html
    .replaceAll(/<meta\b[^>]*\bhttp-equiv\s*=\s*["']?\s*refresh[^>]*>/gi, '')
    .replaceAll(/(=\s*["']?\s*)(?:java|vb)script\s*:/gi, '$1#');

const SIGNS: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };
const escaped = (written: string): string => written.replaceAll(/[&<>"]/g, (sign) => SIGNS[sign] ?? sign);

export async function runPreview(session: Session, call: Call): Promise<void> {
  const [path, body] = await prepare(session, call);
  const answer = await session.client.call(...buildCall(call.action, path, body));
  if (call.options['open'] !== true) return printResponse(session, call, answer, body);
  const { terminal, process, isJson } = session;
  const { file, isOpened } = await openPage(process.env, previewPage(answer as AnswerOf<'previewBroadcast'>));
  if (isJson) return terminal.printJson(answer);
  terminal.print(terminal.isTty ? `${isOpened ? 'Opened' : 'Written'}  ${file}` : file);
  if (!isOpened) terminal.hint('No browser was found; open the file yourself.');
}

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Writes a page to a file that only this user can read, and opens it in the browser of the desktop, if there is one.
 */
async function openPage(env: Environment, html: string): Promise<{ file: string; isOpened: boolean }> {
  // A folder of its own, mode 0700: in the shared one, another user can take a name before us.
  const folder = await mkdtemp(path.join(env['TMPDIR'] || os.tmpdir(), 'rasket-preview-'));
  const file = path.join(folder, 'preview.html');
  await writeFile(file, html, { mode: 0o600, flag: 'wx' });
  return { file, isOpened: await openInBrowser(env, file) };
}
